import type { LetterMark, LetterState } from '../../contracts/letters.ts'
import { type ActOnLetters, actOn } from '../../core/acts.ts'
import type { Instant } from '../../core/time.ts'
import { appendTo } from './audit.ts'
import { instant, wordOf } from './keys.ts'
import { freeHolds, removeLetters } from './letter-removal.ts'
import { type Locked, type Row, TALLIED, talliedOf } from './letter-rows.ts'
import { change, lockGroups, noteResolved } from './letter-tallies.ts'
import { endItems } from './operation-marks.ts'
import type { Ask } from './pool.ts'

/** By the words that their ids are kept as. */
export const lockLetters = async (
  ask: Ask,
  schema: string,
  ids: Iterable<string>,
): Promise<ReadonlyMap<string, Locked>> => {
  const { rows } = await ask({
    name: `reprieve ${schema} lock letters`,
    text: `SELECT id, ${TALLIED.join(', ')} FROM ${schema}.letter WHERE id = ANY ($1::text[]) ORDER BY id FOR UPDATE`,
    values: [[...new Set([...ids].map(wordOf))]],
  })
  return lockedIn(rows)
}

/** Those of an operation's items. The item of a place is always of the same letter. */
export const lockLettersOf = async (
  ask: Ask,
  schema: string,
  operation: string,
  places: readonly number[],
): Promise<ReadonlyMap<string, Locked>> => {
  const { rows } = await ask({
    name: `reprieve ${schema} letters at`,
    text: `SELECT id, ${TALLIED.join(', ')} FROM ${schema}.letter WHERE id = ANY (ARRAY (
        SELECT i.letter FROM ${schema}.operation AS o, unnest($2::bigint[]) AS n (place), LATERAL (
          SELECT x.letter FROM ${schema}.operation_item AS x WHERE x.operation = o.number AND x.place = n.place OFFSET 0) AS i
        WHERE o.id = $1))
      ORDER BY id FOR UPDATE`,
    values: [operation, places],
  })
  return lockedIn(rows)
}

const lockedIn = (rows: readonly Row[]): ReadonlyMap<string, Locked> =>
  new Map(
    rows.map((row): [string, Locked] => {
      const word = row.id as string
      return [word, { word, from: talliedOf(row), state: row.state as LetterState }]
    }),
  )

const groupOf = ({ from }: Locked): string => from[0]!

/** One mark after another takes effect, or not; nothing is written yet. */
export const decide = (letter: Locked | undefined, { from, to, at }: Omit<LetterMark, 'id'>): boolean => {
  if (!letter || !from.includes(letter.state)) return false
  letter.state = to
  letter.at = at
  if (to === 'resolved') letter.resolvedAt = Math.max(letter.resolvedAt ?? at, at)
  return true
}

/** Writes what was decided, where the groups are locked. */
const writeMarks = async (ask: Ask, schema: string, letters: Iterable<Locked>): Promise<void> => {
  const moved = [...letters].filter(({ at }) => at !== undefined)
  if (moved.length === 0) return
  const resolved = new Map<string, Instant>()
  for (const letter of moved) {
    const { resolvedAt } = letter
    if (resolvedAt === undefined) continue
    const group = groupOf(letter)
    resolved.set(group, Math.max(resolved.get(group) ?? resolvedAt, resolvedAt))
  }
  await noteResolved(ask, schema, resolved)
  // those of a step are marked alike, and then it is said once
  for (const alike of Map.groupBy(moved, ({ state, at }) => `${state} ${at}`).values()) {
    await ask({
      name: `reprieve ${schema} mark`,
      text: `
        UPDATE ${schema}.letter AS l SET state = $2, state_at = $3
        FROM unnest($1::text[]) AS n (id),
          LATERAL (SELECT x.ctid AS row FROM ${schema}.letter AS x WHERE x.id = n.id OFFSET 0) AS found
        WHERE l.ctid = found.row`,
      values: [alike.map(({ word }) => word), alike[0]!.state, instant(alike[0]!.at!)],
    })
  }
  await change(
    ask,
    schema,
    moved.flatMap(({ from, state }) => [
      [from, -1],
      [from.with(1, state), 1],
    ]),
  )
}

/** Within a transaction that has locked them: what was decided of each, and those that are to go. */
export const writeAll = async (
  ask: Ask,
  schema: string,
  letters: Iterable<Locked>,
  gone: ReadonlySet<string> = new Set(),
): Promise<void> => {
  const touched = [...letters].filter(({ word, at }) => at !== undefined || gone.has(word))
  if (touched.length === 0) return
  await freeHolds(ask, schema, [...gone])
  await lockGroups(ask, schema, touched.map(groupOf))
  await writeMarks(
    ask,
    schema,
    touched.filter(({ word }) => !gone.has(word)),
  )
  await removeLetters(
    ask,
    schema,
    touched.filter(({ word }) => gone.has(word)),
  )
}

/** Within a transaction. Those that came back from a replay end the items of their operations too. */
export const markAll = async (
  ask: Ask,
  schema: string,
  marks: readonly LetterMark[],
  act?: ActOnLetters,
): Promise<readonly boolean[]> => {
  const letters = await lockLetters(
    ask,
    schema,
    marks.map(({ id }) => id),
  )
  const done = marks.map((mark) => decide(letters.get(wordOf(mark.id)), mark))
  const effective = marks.filter((_, i) => done[i])
  await endItems(ask, schema, effective)
  await writeAll(ask, schema, letters.values())
  const ids = effective.map(({ id }) => id)
  if (act && ids.length > 0) await appendTo(ask, schema, actOn(act, ids))
  return done
}
