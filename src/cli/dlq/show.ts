import type { Command } from 'commander'
import { systemClock } from '../../adapters/system/clock.ts'
import { recordOf } from '../../office/index.ts'
import { action, type Ended } from '../action.ts'
import type { Common } from '../options.ts'
import { say, sayJson } from '../print/say.ts'
import { isFingerprint, wholeIds } from './find.ts'
import { groupText } from './group.ts'
import { letterText } from './letter.ts'
import { openLetters } from './office.ts'
import { storyFacts, timesOf } from './story.ts'

export const registerShow = (dlq: Command): void => {
  dlq
    .command('show')
    .description('show a dead letter with its whole story, or a group')
    .argument('<id>', 'the id of a letter, the fingerprint of a group, or the beginning of it')
    .action(action(show))
}

const show = async (flags: Common, typed: string): Promise<Ended> => {
  await using opened = await openLetters(flags)
  const { office } = opened.app
  if (isFingerprint(typed)) {
    const group = await office.group(typed)
    return flags.json ? sayJson(group) : say(groupText(group, systemClock.now()))
  }
  const [id] = await wholeIds(office, [typed])
  const kept = await office.show(id!)
  const [behind, lives] = await Promise.all([office.behind(kept.letter), office.lives(kept)])
  if (flags.json) sayJson({ ...recordOf(kept), ...timesOf(lives), lives: lives.lives, behind })
  else say(letterText(kept, behind, storyFacts(kept, lives)))
}
