import { readFile } from 'node:fs/promises'
import { type Command, InvalidArgumentError } from 'commander'
import type { Change } from '../../core/change.ts'
import { ReprieveError } from '../../core/error.ts'
import type { Json } from '../../core/json.ts'
import { parseExact } from '../../core/json-exact.ts'
import type { PatchStep } from '../../core/json-patch.ts'
import type { RepairResult } from '../../office/index.ts'
import { type ActingFlags, actingOf, withActing } from '../acting.ts'
import { action, type Ended } from '../action.ts'
import { asHeader } from '../options.ts'
import { inert } from '../print/inert.ts'
import { calmOnStderr, strong } from '../print/paint.ts'
import { withProgress } from '../print/progress.ts'
import { remark, say, sayJson } from '../print/say.ts'
import { diffText } from './differences.ts'
import { type FilterFlags, withFilter, withState } from './filter.ts'
import { wholeIds } from './find.ts'
import { openOffice } from './office.ts'
import { checkSelection, selectionOf } from './selection.ts'
import { tellSkipped } from './skipped.ts'

interface RepairFlags extends FilterFlags, ActingFlags {
  readonly patch?: string
  readonly set?: readonly string[]
  readonly unset?: readonly string[]
  readonly rename?: readonly string[]
  readonly header?: Readonly<Record<string, string>>
  readonly dropHeader?: readonly string[]
  readonly undo?: number
  readonly dryRun?: true
}

const asVersion = (text: string): number => {
  if (/^\d{1,6}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be the number of a version; 0 is the letter as it died.')
}

const several = (value: string, before: readonly string[] = []): readonly string[] => [...before, value]

export const registerRepair = (dlq: Command): void => {
  withState(withActing(withFilter(dlq.command('edit').alias('repair'))), ['open', 'quarantined'])
    .description('mend what dead letters carry before they are replayed; the originals are kept')
    .argument('[ids...]', 'ids of letters, or their beginnings')
    .option('--patch <file>', 'a JSON Patch (RFC 6902) for the payload, from a file')
    .option('--set <path=value>', "puts a value there, like '$.amount=12.5'; JSON, or else a text", several)
    .option('--unset <path>', 'takes away what is there', several)
    .option('--rename <path=path>', "moves what is there, like '$.mail=$.email'", several)
    .option('--header <name=value>', 'sets a header', asHeader)
    .option('--drop-header <name>', 'takes a header away', several)
    .option('--undo <version>', 'goes back to this version of one letter; 0 is as it died', asVersion)
    .option('--dry-run', 'only shows what would differ, and which letters it does not fit')
    .action(action(repair))
}

const repair = async (flags: RepairFlags, typed: readonly string[]) => {
  const change = flags.undo === undefined ? await changeOf(flags) : undefined
  if (change) checkSelection('edit', flags, typed, { all: false })
  await using opened = await openOffice(flags)
  const { office } = opened.app
  if (flags.undo !== undefined) return await undo(office, flags, typed)
  const letters = await selectionOf(office, flags, typed)
  const dryRun = flags.dryRun === true
  const result = await withProgress(dryRun ? 'looked at' : 'repaired', (onProgress) =>
    office.repair(letters, change!, { ...actingOf(flags), dryRun, onProgress }),
  )
  if (flags.json) sayJson({ ...result, dryRun })
  else if (result.repaired.length + result.skipped.length === 0) say('no open dead letter fits')
  else tell(result, dryRun)
  return result.skipped.length > 0 ? 1 : 0
}

type OfOffice = Awaited<ReturnType<typeof openOffice>>['app']['office']

const undo = async (office: OfOffice, flags: RepairFlags, typed: readonly string[]): Promise<Ended> => {
  if (typed.length !== 1) throw new ReprieveError('bad_usage', '--undo takes the id of one letter')
  const [id] = await wholeIds(office, typed)
  const made = await office.undo(id!, flags.undo!, actingOf(flags))
  if (flags.json) return sayJson({ id, version: made.version, hash: made.hash })
  say(`${id} is as version ${flags.undo} was, by version ${made.version}`)
}

const tell = (result: RepairResult, dryRun: boolean): void => {
  const { repaired, skipped, checked } = result
  if (dryRun) showDifferences(result)
  const schema = checked < repaired.length ? ', with no schema at hand to check them against' : ''
  say(`${repaired.length} ${dryRun ? 'would be repaired' : 'repaired'}${schema}`)
  tellSkipped(skipped, 'repaired')
}

const showDifferences = ({ repaired, differences }: RepairResult): void => {
  for (const { id, differences: some } of differences) say(`${strong(id)}\n${diffText(some)}`)
  const more = repaired.length - differences.length
  if (more > 0) remark(calmOnStderr(`and ${more} more, not shown`))
}

const changeOf = async (flags: RepairFlags): Promise<Change> => {
  const dropped = (flags.dropHeader ?? []).map((name) => [name, null] as const)
  const headers = { ...flags.header, ...Object.fromEntries(dropped) }
  return {
    ...(flags.patch !== undefined && { patch: await patchFrom(flags.patch) }),
    ...(flags.rename && {
      rename: Object.fromEntries(flags.rename.map((text) => splitAt(text, '--rename'))),
    }),
    ...(flags.set && {
      set: Object.fromEntries(flags.set.map((text) => valued(splitAt(text, '--set')))),
    }),
    ...(flags.unset && { unset: flags.unset }),
    ...(Object.keys(headers).length > 0 && { headers }),
  }
}

/** At the first '=' that stands in no bracket: an odd name may hold one. */
const splitAt = (text: string, flag: string): readonly [string, string] => {
  const [, path, value] =
    /^((?:\[(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\]]*)\]|[^=[])+)=([\s\S]*)$/.exec(text) ?? []
  if (path !== undefined && value !== undefined) return [path, value]
  throw new ReprieveError('bad_usage', `${flag} '${inert(text)}': an = is missing`, {
    fix: `write it like ${flag} '$.amount=${flag === '--rename' ? '$.total' : '12.5'}'`,
  })
}

const valued = ([path, text]: readonly [string, string]): readonly [string, Json] => {
  const read = parseExact(text)
  return [path, (read ? read.value : text) as Json]
}

const patchFrom = async (file: string): Promise<readonly PatchStep[]> => {
  const text = await readFile(file, 'utf8').catch((error: Error) => {
    throw new ReprieveError('bad_usage', `the patch can't be read: ${error.message}`)
  })
  const read = parseExact(text)
  if (read) return read.value as readonly PatchStep[]
  throw new ReprieveError('bad_usage', `the patch in ${inert(file)} is no JSON`)
}
