import { ReprieveError } from '../../core/error.ts'
import type { Office } from '../../office/index.ts'

const SHORTEST = 8
const WHOLE = 36
const SOME = 6

/** Whole ids for what was typed, which may be the beginning of an id, eight characters or more. */
export const wholeIds = async (
  office: Pick<Office, 'list'>,
  typed: readonly string[],
): Promise<readonly string[]> =>
  Promise.all(
    typed.map(async (id) => {
      if (id.length < SHORTEST || id.length >= WHOLE) return id
      const found = await office.list({ beginning: id }, SOME)
      return only(
        id,
        found.map(({ letter }) => letter.id),
      )
    }),
  )

/** What fits nothing is handed on as it is: the office says what it thinks of it. */
const only = (typed: string, ids: readonly string[]): string => {
  if (ids.length < 2) return ids[0] ?? typed
  const count = ids.length === SOME ? 'several' : ids.length
  throw new ReprieveError('bad_usage', `${count} dead letters have an id that begins with ${typed}`, {
    fix: `type more of it: ${ids.slice(0, 5).join(', ')}`,
  })
}

/** Or the beginning of one. An id of a letter may begin with an f and seven digits, and then its first dash: versions are shorter. */
export const isFingerprint = (typed: string): boolean => /^f\d{1,6}-/.test(typed)
