import { type Command, Option } from 'commander'
import { systemClock } from '../../adapters/system/clock.ts'
import type { LetterFilter, LetterState } from '../../contracts/letters.ts'
import { CATEGORIES, type Category, KINDS, type Kind } from '../../core/failure.ts'
import type { Instant } from '../../core/time.ts'
import type { Office } from '../../office/index.ts'
import { asMoment, type Common } from '../options.ts'

export const STATES: readonly LetterState[] = [
  ...(['open', 'replaying', 'resolved', 'dead again', 'discarded', 'quarantined'] as const),
]

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
}

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
    .option('--payload <words>', 'with all these words in the payload')
    .option(
      '--where <condition>',
      'whose JSON payload fits, like \'$.order.total > 100 and $.owner = "ann"\'',
    )

export const filterOf = (flags: FilterFlags): LetterFilter => {
  const { service, topic, event, category, kind, code, group, from, to, error, payload, where } = flags
  const filter = { service, topic, type: event, category, kind, code, fingerprint: group, from, to }
  const named = Object.entries({ ...filter, error, payload, where })
  return Object.fromEntries(named.filter(([, value]) => value !== undefined))
}

/** With the whole fingerprint of the group. A group that is not there is a mistake, not an empty answer. */
export const wholeFilter = async (
  office: Pick<Office, 'group'>,
  flags: FilterFlags,
): Promise<LetterFilter> => {
  const filter = filterOf(flags)
  if (flags.group === undefined) return filter
  return { ...filter, fingerprint: (await office.group(flags.group)).fingerprint }
}
