import type { Command } from 'commander'
import { iso } from '../../core/time.ts'
import type { VersionStory } from '../../office/index.ts'
import { action, type Ended } from '../action.ts'
import type { Common } from '../options.ts'
import { inert } from '../print/inert.ts'
import { calm, strong } from '../print/paint.ts'
import { say, sayJson } from '../print/say.ts'
import { diffText } from './differences.ts'
import { wholeIds } from './find.ts'
import { openLetters } from './office.ts'

export const registerDiff = (dlq: Command): void => {
  dlq
    .command('diff')
    .description('how a dead letter was repaired, version by version')
    .argument('<id>', 'the id of a letter, or the beginning of it')
    .action(action(diff))
}

const diff = async (flags: Common, typed: string): Promise<Ended> => {
  await using opened = await openLetters(flags)
  const { office } = opened.app
  const [id] = await wholeIds(office, [typed])
  const versions = await office.versions(id!)
  if (flags.json) return sayJson({ id, versions }, versions)
  say(versions.length === 0 ? 'it is as it died: never repaired' : versions.map(versionText).join('\n\n'))
}

export const versionText = ({ version, at, who, reason, before, hash, differences }: VersionStory): string =>
  [
    `${strong(`version ${version}`)}  ${iso(at)}  by ${inert(who)}${reason === undefined ? '' : `: ${inert(reason)}`}`,
    calm(`  ${before.slice(0, 12)} → ${hash.slice(0, 12)}`),
    diffText(differences),
  ].join('\n')
