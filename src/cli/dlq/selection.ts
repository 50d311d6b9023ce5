import type { LetterFilter } from '../../contracts/letters.ts'
import { ReprieveError } from '../../core/error.ts'
import type { Office, Selection } from '../../office/index.ts'
import { type FilterFlags, filterOf, wholeFilter } from './filter.ts'
import { wholeIds } from './find.ts'

export interface SelectionFlags extends FilterFlags {
  /** Of commands that may be asked for everything. */
  readonly all?: true
}

const LIKE = '1f0c2a9b, or --service notification-svc, or'

/** One way to choose, and never none: nothing asked for is a mistake, not everything. */
export const checkSelection = (
  command: string,
  flags: SelectionFlags,
  typed: readonly string[],
  { all }: { readonly all: boolean },
): void => {
  const filtered = Object.keys(filterOf(flags)).length > 0
  const ways = [typed.length > 0, filtered, flags.all === true].filter(Boolean).length
  if (ways === 1) return
  const several = all
    ? 'ids, a filter, or --all: one of them, not several'
    : 'ids or a filter: one of them, not both'
  throw new ReprieveError('bad_usage', ways === 0 ? 'nothing is selected: name ids or a filter' : several, {
    fix: `like reprieve dlq ${command} ${LIKE} ${all ? '--all' : '--group f1-8571'}`,
  })
}

/** The letters that were typed, or all that fit. */
export const selectionOf = async (
  office: Pick<Office, 'list' | 'group' | 'count'>,
  flags: FilterFlags,
  typed: readonly string[],
): Promise<Selection> =>
  typed.length > 0 ? [...new Set(await wholeIds(office, typed))] : wholeFilter(office, flags)

/** For an operation, which takes what was named as it stands, too. */
export const asFilter = (letters: Selection): LetterFilter =>
  'length' in letters ? { ids: letters } : letters
