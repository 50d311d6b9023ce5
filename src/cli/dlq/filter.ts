import { type Command, Option } from 'commander'
import type { LetterFilter, LetterState } from '../../contracts/letters.ts'
import { CATEGORIES, type Category, KINDS, type Kind } from '../../core/failure.ts'
import type { Common } from '../options.ts'

export const STATES: readonly LetterState[] = ['open', 'replaying', 'resolved', 'dead again', 'discarded']

export interface FilterFlags extends Common {
  readonly service?: string
  readonly topic?: string
  readonly category?: Category
  readonly kind?: Kind
}

/** By what letters can be chosen, the same for every command. */
export const withFilter = (command: Command): Command =>
  command
    .option('--service <name>', 'of this service')
    .option('--topic <name>', 'that came from this topic')
    .addOption(new Option('--category <category>', 'whose failure is of this category').choices(CATEGORIES))
    .addOption(new Option('--kind <kind>', 'whose failure is of this kind').choices(KINDS))

export const filterOf = ({ service, topic, category, kind }: FilterFlags): LetterFilter => ({
  ...(service !== undefined && { service }),
  ...(topic !== undefined && { topic }),
  ...(category !== undefined && { category }),
  ...(kind !== undefined && { kind }),
})
