import { ReprieveError } from '../../core/error.ts'
import type { Office } from '../../office/index.ts'

const SHORTEST = 8
const WHOLE = 36
const PAGE = 500

/** Whole ids for what was typed, which may be the beginning of an id, eight characters or more. */
export const wholeIds = async (
  office: Pick<Office, 'list'>,
  typed: readonly string[],
): Promise<readonly string[]> => {
  const short = typed.filter((id) => id.length >= SHORTEST && id.length < WHOLE)
  if (short.length === 0) return typed
  const found = new Map<string, string[]>(short.map((id) => [id, []]))
  let after: string | undefined
  for (;;) {
    const page = await office.list({}, PAGE, after)
    for (const { letter } of page) {
      for (const [beginning, ids] of found) if (letter.id.startsWith(beginning)) ids.push(letter.id)
    }
    after = page.at(-1)?.letter.id
    if (page.length < PAGE) break
  }
  return typed.map((id) => only(id, found.get(id) ?? [id]))
}

/** What fits nothing is handed on as it is: the office says what it thinks of it. */
const only = (typed: string, ids: readonly string[]): string => {
  if (ids.length < 2) return ids[0] ?? typed
  throw new ReprieveError('bad_usage', `${ids.length} dead letters have an id that begins with ${typed}`, {
    fix: `type more of it: ${ids.slice(0, 5).join(', ')}`,
  })
}
