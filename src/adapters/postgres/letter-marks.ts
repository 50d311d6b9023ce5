import type { LetterMark, LetterState } from '../../contracts/letters.ts'
import { type ActOnLetters, actOn } from '../../core/acts.ts'
import type { Instant } from '../../core/time.ts'
import { appendTo } from './audit.ts'
import { instant, wordOf } from './keys.ts'
import { TALLIED, type Tallied, talliedOf } from './letter-rows.ts'
import { change, lockGroups, noteResolved } from './letter-tallies.ts'
import type { Ask } from './pool.ts'

interface Marked {
  readonly from: Tallied
  state: LetterState
  at?: Instant
}

/** Within a transaction: one mark after another takes effect, or not, on letters that are ours until the commit. */
export const markAll = async (
  ask: Ask,
  schema: string,
  marks: readonly LetterMark[],
  act?: ActOnLetters,
): Promise<readonly boolean[]> => {
  const { rows } = await ask({
    name: `reprieve ${schema} to mark`,
    text: `SELECT id, ${TALLIED.join(', ')} FROM ${schema}.letter WHERE id = ANY ($1::text[]) ORDER BY id FOR UPDATE`,
    values: [[...new Set(marks.map(({ id }) => wordOf(id)))]],
  })
  const letters = new Map(
    rows.map((row): [string, Marked] => [
      row.id as string,
      { from: talliedOf(row), state: row.state as LetterState },
    ]),
  )
  const resolved = new Map<string, Instant>()
  const done = marks.map(({ id, from, to, at }) => {
    const letter = letters.get(wordOf(id))
    if (!letter || !from.includes(letter.state)) return false
    letter.state = to
    letter.at = at
    const group = letter.from[0]!
    if (to === 'resolved') resolved.set(group, Math.max(resolved.get(group) ?? at, at))
    return true
  })
  const moved = [...letters].filter(([, { at }]) => at !== undefined)
  if (moved.length === 0) return done
  await lockGroups(
    ask,
    schema,
    moved.map(([, { from }]) => from[0]!),
  )
  await noteResolved(ask, schema, resolved)
  await ask({
    name: `reprieve ${schema} mark`,
    text: `
      UPDATE ${schema}.letter AS l SET state = n.state, state_at = n.at
      FROM unnest($1::text[], $2::text[], $3::bigint[]) AS n (id, state, at) WHERE l.id = n.id`,
    values: [
      moved.map(([id]) => id),
      moved.map(([, { state }]) => state),
      moved.map(([, { at }]) => instant(at!)),
    ],
  })
  await change(
    ask,
    schema,
    moved.flatMap(([, { from, state }]) => [
      [from, -1],
      [from.with(1, state), 1],
    ]),
  )
  const ids = act ? marks.flatMap(({ id }, i) => (done[i] ? [id] : [])) : []
  if (act && ids.length > 0) await appendTo(ask, schema, actOn(act, ids))
  return done
}
