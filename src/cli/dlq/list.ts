import { type Command, Option } from 'commander'
import { systemClock } from '../../adapters/system/clock.ts'
import type { KeptLetter, LetterState } from '../../contracts/letters.ts'
import { LETTER_STATES } from '../../core/letter.ts'
import { type Found, NOT_AT_AN_END, recordOf } from '../../office/index.ts'
import { action, type Ended } from '../action.ts'
import { asCount } from '../options.ts'
import { bad, calm, calmOnStderr, good, warn } from '../print/paint.ts'
import { columnsHere, remark, say, sayJson, WIDE } from '../print/say.ts'
import { type Column, table } from '../print/table.ts'
import { span } from '../print/time.ts'
import { type FilterFlags, wholeFilter, withFilter } from './filter.ts'
import { wholeIds } from './find.ts'
import { openLetters } from './office.ts'

interface ListFlags extends FilterFlags {
  readonly state?: LetterState | 'all'
  readonly limit: number
  readonly after?: string
}

export const registerList = (dlq: Command): void => {
  withFilter(dlq.command('list'))
    .description('list dead letters, the newest first')
    .addOption(
      new Option(
        '--state <state>',
        'in this state (else those not yet at an end: open, replaying and quarantined)',
      ).choices([...LETTER_STATES, 'all']),
    )
    .option('--limit <count>', 'at most so many', asCount, 50)
    .option('--after <id>', 'only what comes after this letter: the next page')
    .action(action(list))
}

const list = async (flags: ListFlags): Promise<Ended> => {
  await using opened = await openLetters(flags)
  const { office } = opened.app
  const filter = { ...(await wholeFilter(office, flags)), ...statesOf(flags.state) }
  const after = flags.after === undefined ? undefined : (await wholeIds(office, [flags.after]))[0]
  const found = await office.find(filter, { limit: flags.limit, ...(after !== undefined && { after }) })
  const { letters, next, count, whole } = found
  if (flags.json) {
    const records = letters.map(recordOf)
    return sayJson({ count, whole, next: next ?? null, letters: records }, records)
  }
  if (letters.length === 0)
    return say(count === 0 ? 'no dead letters' : `none after that one, ${countText(found)} in all`)
  say(table(columns(systemClock.now()), letters, columnsHere()))
  if (next !== undefined) remark(calmOnStderr(`${countText(found)} in all; more with --after ${next}`))
}

/** What is not kept as a tally is counted only so far, and says so. */
const countText = ({ count, whole }: Found): string =>
  whole
    ? count.toLocaleString('en')
    : `${count < 10_000 ? 'at least' : 'more than'} ${count.toLocaleString('en')}`

const statesOf = (state: ListFlags['state']): { states?: readonly LetterState[] } => {
  if (state === 'all') return {}
  return { states: state === undefined ? NOT_AT_AN_END : [state] }
}

/** Whole ids where nothing is cut, so that a list can be piped on; their beginnings where room is short. */
const columns = (now: number): readonly Column<KeptLetter>[] => {
  const columnsThere = columnsHere()
  const idLength = columnsThere === undefined || columnsThere >= 160 ? undefined : 8
  return [
    { title: 'id', of: ({ letter }) => letter.id.slice(0, idLength) },
    { title: 'age', of: ({ letter }) => span(now - letter.buriedAt), align: 'right' },
    { title: 'state', of: ({ state }) => state, paint: (text, { state }) => PAINT[state](text) },
    { title: 'service', of: ({ letter }) => letter.service, least: 8 },
    { title: 'topic', of: ({ letter }) => letter.topic, least: 8 },
    { title: 'category', of: ({ letter }) => letter.category, least: 6, wide: WIDE },
    { title: 'reason', of: ({ letter }) => letter.reason, least: 8, wide: WIDE },
    { title: 'error', of: ({ letter }) => letter.error, least: 10, paint: calm },
  ]
}

const PAINT: Readonly<Record<LetterState, (text: string) => string>> = {
  open: warn,
  replaying: calm,
  resolved: good,
  'dead again': bad,
  discarded: calm,
  quarantined: bad,
}
