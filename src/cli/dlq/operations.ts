import type { Command } from 'commander'
import { systemClock } from '../../adapters/system/clock.ts'
import type { KeptOperation } from '../../contracts/operations.ts'
import type { ItemState } from '../../core/operation.ts'
import { iso } from '../../core/time.ts'
import type { Acting, OperationsDesk } from '../../office/index.ts'
import { type ActingFlags, actingOf, withActing } from '../acting.ts'
import { action, type Ended } from '../action.ts'
import { asCount, type Common } from '../options.ts'
import { calmOnStderr } from '../print/paint.ts'
import { columnsHere, isNarrow, remark, say, sayJson } from '../print/say.ts'
import { type Column, table } from '../print/table.ts'
import { span } from '../print/time.ts'
import { openLetters, openOffice } from './office.ts'
import { operationText, progressText, stateText, totalOf } from './operation-text.ts'
import { watchOperation } from './watch.ts'

interface ListFlags extends Common {
  readonly live?: true
  readonly limit: number
  readonly before?: string
}

interface ShowFlags extends Common {
  readonly items?: true
  readonly limit: number
}

interface OneFlags extends ActingFlags {
  readonly hash?: string
  readonly jsonl?: true
}

export const registerOperations = (dlq: Command): void => {
  dlq
    .command('operations')
    .description('list replays and purges of whole sets, the newest first')
    .option('--live', 'only those that are not over')
    .option('--limit <count>', 'at most so many', asCount, 50)
    .option('--before <id>', 'only what comes after this one in the list: the next page')
    .action(action(list))
  const one = dlq
    .command('operation')
    .description('one replay or purge: show, approve, pause, resume, cancel, watch')
  one
    .command('show')
    .description('how it stands')
    .argument('<id>', 'its id, or the beginning of it')
    .option('--items', 'and what became of each letter')
    .option('--limit <count>', 'of so many at most', asCount, 1000)
    .action(action(show))
  for (const approving of [dlq.command('approve'), one.command('approve')]) {
    withActing(approving)
      .description('approve the set of a replay or purge: by someone other than who asked for it')
      .argument('<id>', 'the id of the operation, or the beginning of it')
      .option('--hash <hash>', 'only if the hash of its set begins so')
      .action(action((flags: OneFlags, id: string) => change('approve', flags, id)))
  }
  for (const [name, what] of [
    ['pause', 'send nothing more until it is resumed'],
    ['resume', 'go on where it was; begin it, where it is only frozen'],
    ['cancel', 'send nothing more; what is on its way is still heard of'],
  ] as const) {
    withActing(one.command(name))
      .description(what)
      .argument('<id>', 'its id, or the beginning of it')
      .action(action((flags: OneFlags, id: string) => change(name, flags, id)))
  }
  one
    .command('watch')
    .description('work on it here, and stay until it is over')
    .argument('<id>', 'its id, or the beginning of it')
    .option('--jsonl', 'a line of JSON for each step, for programs')
    .action(action(watch))
}

const list = async (flags: ListFlags): Promise<Ended> => {
  await using opened = await openLetters(flags)
  const { live, limit, before } = flags
  const found = await opened.app.office.operations.list({
    ...(live && { live }),
    limit,
    ...(before !== undefined && { before }),
  })
  if (flags.json) return sayJson({ operations: found }, found)
  if (found.length === 0) return say(live ? 'no operation is under way' : 'no operations')
  say(table(columns(systemClock.now()), found, columnsHere()))
  if (found.length === limit)
    remark(calmOnStderr(`there may be more: --before ${found.at(-1)!.operation.id}`))
}

const columns = (now: number): readonly Column<KeptOperation>[] => [
  // the beginning is the moment it was made: enough to name it by
  { title: 'id', of: ({ operation }) => operation.id.slice(0, isNarrow() ? 13 : undefined) },
  { title: 'age', of: ({ operation }) => span(now - operation.at), align: 'right' },
  { title: 'kind', of: ({ operation }) => operation.kind },
  {
    title: 'state',
    of: ({ operation }) => operation.state,
    paint: (text, kept) => stateText(kept) + text.slice(kept.operation.state.length),
  },
  { title: 'by', of: ({ operation }) => operation.by, least: 8, wide: 60 },
  { title: 'letters', of: (kept) => String(totalOf(kept)), align: 'right' },
  { title: 'progress', of: (kept) => progressText(kept, now), least: 12 },
]

const show = async (flags: ShowFlags, id: string): Promise<Ended> => {
  await using opened = await openLetters(flags)
  const { operations } = opened.app.office
  const kept = await operations.show(id)
  const items = flags.items ? await operations.items(id, { limit: flags.limit }) : []
  if (flags.json) return flags.items ? sayJson({ ...kept, items }, items) : sayJson(kept)
  say(operationText(kept))
  if (!flags.items) return
  say('')
  say(
    table(
      [
        { title: 'letter', of: ({ letter }) => letter },
        { title: 'state', of: ({ state }: { state: ItemState }) => state },
        { title: 'at', of: ({ at }) => iso(at) },
        { title: 'because', of: ({ because = '' }) => because, least: 10 },
      ],
      items,
      columnsHere(),
    ),
  )
}

const change = async (
  how: 'approve' | 'pause' | 'resume' | 'cancel',
  flags: OneFlags,
  id: string,
): Promise<Ended> => {
  await using opened = await openLetters(flags)
  const { operations } = opened.app.office
  const { hash } = flags
  const by: Acting & { hash?: string } = { ...actingOf(flags), ...(hash !== undefined && { hash }) }
  const kept = await (operations[how] as OperationsDesk['pause'])(id, by)
  if (flags.json) return sayJson(kept)
  const { state, paused } = kept.operation
  say(`${kept.operation.id} is ${paused ? 'paused' : state}`)
  if (how === 'approve' || how === 'resume') {
    remark(
      calmOnStderr(`an app that runs goes on with it, or: reprieve dlq operation watch ${kept.operation.id}`),
    )
  }
}

const watch = async (flags: OneFlags, typed: string): Promise<Ended> => {
  await using opened = await openOffice(flags)
  const { office } = opened.app
  const { id } = (await office.operations.show(typed)).operation
  await office.open(opened.destinations)
  const kept = await watchOperation(office, id, { until: 'end', jsonl: flags.jsonl, quiet: flags.json })
  if (flags.json) sayJson(kept)
  else if (!flags.jsonl) say(operationText(kept))
  const { counts, operation } = kept
  return operation.state === 'done' && counts['dead again'] + counts.failed + counts.skipped === 0 ? 0 : 1
}
