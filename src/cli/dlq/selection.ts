import type { LetterFilter } from '../../contracts/letters.ts'
import { ReprieveError } from '../../core/error.ts'
import type { Office } from '../../office/index.ts'
import { type FilterFlags, filterOf, wholeFilter } from './filter.ts'
import { wholeIds } from './find.ts'

export interface SelectionFlags extends FilterFlags {
  readonly all?: true
}

/** One way to choose, and never none: nothing asked for is a mistake, not everything. */
export const checkSelection = (command: string, flags: SelectionFlags, typed: readonly string[]): void => {
  const filtered = Object.keys(filterOf(flags)).length > 0
  const ways = [typed.length > 0, filtered, flags.all === true].filter(Boolean).length
  if (ways === 1) return
  throw new ReprieveError(
    'bad_usage',
    ways === 0
      ? 'nothing is selected: name ids or a filter'
      : 'ids, a filter, or --all: one of them, not several',
    { fix: `like reprieve dlq ${command} 1f0c2a9b, or --service notification-svc, or --all` },
  )
}

export const selectionOf = async (
  office: Office,
  flags: SelectionFlags,
  typed: readonly string[],
): Promise<LetterFilter> =>
  typed.length > 0 ? { ids: [...new Set(await wholeIds(office, typed))] } : wholeFilter(office, flags)
