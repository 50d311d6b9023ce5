import { type Command, InvalidArgumentError, Option } from 'commander'
import { systemClock } from '../../adapters/system/clock.ts'
import type { LetterFilter, LetterState } from '../../contracts/letters.ts'
import { ReprieveError } from '../../core/error.ts'
import { CATEGORIES, type Category, KINDS, type Kind } from '../../core/failure.ts'
import { LETTER_STATES } from '../../core/letter.ts'
import { type Instant, iso } from '../../core/time.ts'
import type { Office } from '../../office/index.ts'
import { asMoment, type Common } from '../options.ts'
import { inert } from '../print/inert.ts'
import { warnOnStderr } from '../print/paint.ts'
import { remark, wantsJson } from '../print/say.ts'

export interface FilterFlags extends Common {
  readonly service?: string
  readonly topic?: string
  readonly event?: string
  readonly category?: Category
  readonly kind?: Kind
  readonly code?: string
  readonly group?: string
  readonly from?: Instant
  readonly to?: Instant
  readonly error?: string
  readonly payload?: string
  readonly where?: string
  readonly state?: LetterState | 'all' | readonly StateFlag[]
}

type StateFlag = LetterState | 'all'

/** By the states that letters are in, too; said again, in one of several. */
export const withState = (
  command: Command,
  states: readonly LetterState[],
  about = `in this state, else ${states.join(' or ')}; may be said again`,
): Command =>
  command.addOption(
    new Option('--state <state>', about)
      .choices([...states, 'all'])
      .argParser((text: string, before: readonly StateFlag[] = []): readonly StateFlag[] => {
        const state = [...states, 'all' as const].find((each) => each === text)
        if (state) return [...before, state]
        throw new InvalidArgumentError(`Allowed choices are ${[...states, 'all'].join(', ')}.`)
      }),
  )

const moment = (text: string): Instant => asMoment(text, systemClock.now())

/** By what letters can be chosen, the same for every command. */
export const withFilter = (command: Command): Command =>
  command
    .option('--service <name>', 'of this service')
    .option('--topic <name>', 'that came from this topic')
    .option('--event <type>', 'whose event is of this type')
    .addOption(new Option('--category <category>', 'whose failure is of this category').choices(CATEGORIES))
    .addOption(new Option('--kind <kind>', 'whose failure is of this kind').choices(KINDS))
    .option('--code <code>', 'whose failure has this code, like ECONNREFUSED')
    .option('--group <fingerprint>', 'of this group: its fingerprint, or the beginning of it')
    .option('--from <time>', 'buried then or later: 2026-01-31T10:00Z, or 2h for two hours ago', moment)
    .option('--to <time>', 'buried before', moment)
    .option('--error <words>', 'with all these words in the error')
    .option('--payload <words>', 'with all these words in the payload, as it died or as it was repaired')
    .option(
      '--where <condition>',
      'whose JSON payload fits, as it died or as it was repaired, like \'$.order.total > 100 and $.owner = "ann"\'',
    )

export const filterOf = (flags: FilterFlags): LetterFilter => {
  const { service, topic, event, category, kind, code, group, from, to, error, payload, where } = flags
  const filter = { service, topic, type: event, category, kind, code, fingerprint: group, from, to }
  const named = Object.entries({ ...filter, error, payload, where, ...statesOf(flags) })
  return Object.fromEntries(named.filter(([, value]) => value !== undefined))
}

const statesOf = ({ state }: FilterFlags): Pick<LetterFilter, 'states'> => {
  // where one state is asked for, as of a list, the command itself sees to it
  if (state === undefined || typeof state === 'string') return {}
  return { states: LETTER_STATES.filter((each) => state.includes('all') || state.includes(each)) }
}

/** With the whole fingerprint of the group. A group that is not there is a mistake, not an empty answer. */
export const wholeFilter = async (
  office: Pick<Office, 'group' | 'count'>,
  flags: FilterFlags,
): Promise<LetterFilter> => {
  const filter = filterOf(flags)
  checkTimes(filter)
  await tellUnknown(office, filter)
  if (flags.group === undefined) return filter
  return { ...filter, fingerprint: (await office.group(flags.group)).fingerprint }
}

const checkTimes = ({ from, to }: LetterFilter): void => {
  if (from === undefined || to === undefined || from < to) return
  throw new ReprieveError('bad_filter', `nothing is buried from ${iso(from)} on and before ${iso(to)}`, {
    fix: 'the earlier time is for --from, the later one for --to',
  })
}

const NAMES = [
  ['service', 'is of the service'],
  ['topic', 'came from the topic'],
  ['type', 'has an event of the type'],
  ['code', 'has the code'],
] as const

/** A name that no kept letter has is most likely a slip: an empty answer alone would look like good news. */
export const tellUnknown = async (office: Pick<Office, 'count'>, filter: LetterFilter): Promise<void> => {
  if (wantsJson()) return
  for (const [name, has] of NAMES) {
    const value = filter[name]
    if (value === undefined || (await office.count({ [name]: value })) > 0) continue
    remark(warnOnStderr(`no dead letter that is kept ${has} '${inert(value)}': see reprieve dlq stats`))
  }
}
