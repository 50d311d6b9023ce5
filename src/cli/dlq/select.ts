import { ReprieveError } from '../../core/error.ts'
import type { Office, Selection } from '../../office/index.ts'
import { type FilterFlags, filterOf, wholeFilter } from './filter.ts'
import { wholeIds } from './find.ts'

/** Ids or a filter, one of them: never everything because nothing was said. */
export const selectionOf = async (
  office: Pick<Office, 'list' | 'group' | 'count'>,
  flags: FilterFlags,
  typed: readonly string[],
  verb: string,
): Promise<Selection> => {
  const filtered = Object.keys(filterOf(flags)).length > 0
  if (typed.length > 0 && !filtered) return [...new Set(await wholeIds(office, typed))]
  if (typed.length === 0 && filtered) return wholeFilter(office, flags)
  throw new ReprieveError(
    'bad_usage',
    filtered ? 'ids or a filter: one of them, not both' : 'nothing is selected: name ids or a filter',
    { fix: `like reprieve dlq ${verb} 1f0c2a9b, or --group f1-8571, or --service notification-svc` },
  )
}
