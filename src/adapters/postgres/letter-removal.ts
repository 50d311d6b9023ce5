import { MOST_ERROR, slotOf } from '../../core/group.ts'
import { KEPT, keptOf, type Locked } from './letter-rows.ts'
import { change } from './letter-tallies.ts'
import { textOf } from './letter-words.ts'
import type { Ask } from './pool.ts'

/**
 * Within a transaction that has locked them and their groups, and freed what held them: takes letters away with all that
 * was counted of them, and their groups with the last of each.
 */
export const removeLetters = async (ask: Ask, schema: string, letters: readonly Locked[]): Promise<void> => {
  if (letters.length === 0) return
  const words = letters.map(({ word }) => word)
  const groups = [...new Set(letters.map(({ from }) => from[0]!))]
  const { rows } = await ask({
    text: `
      WITH repairs AS (DELETE FROM ${schema}.letter_repair WHERE letter = ANY ($1::text[]))
      DELETE FROM ${schema}.letter WHERE id = ANY ($1::text[]) RETURNING buried_at, fingerprint`,
    values: [words],
  })
  await ask({
    text: `
      UPDATE ${schema}.letter_arrival AS a SET count = a.count - n.count FROM (
        SELECT slot, fingerprint, count(*) AS count FROM unnest($1::bigint[], $2::text[]) AS g (slot, fingerprint)
        GROUP BY 1, 2) AS n
      WHERE a.slot = n.slot AND a.fingerprint = n.fingerprint`,
    values: [rows.map((row) => slotOf(Number(row.buried_at))), rows.map((row) => row.fingerprint)],
  })
  await change(
    ask,
    schema,
    letters.map(({ from }) => [from, -1]),
  )
  for (const group of groups) await lookAnew(ask, schema, group)
}

/** In the order of the letters, by a transaction that has begun with `lockHolds`. */
export const freeHolds = async (ask: Ask, schema: string, words: readonly string[]): Promise<void> => {
  if (words.length === 0) return
  await ask({
    text: `
      WITH held AS MATERIALIZED (
        SELECT operation, place FROM ${schema}.operation_item
        WHERE letter = ANY ($1::text[]) AND held ORDER BY letter FOR UPDATE)
      UPDATE ${schema}.operation_item AS i SET held = false FROM held
      WHERE i.operation = held.operation AND i.place = held.place`,
    values: [words],
  })
}

/** Each state is a piece of one index that lies in order: its ends are two looks, however many letters there are. */
const end = (schema: string, columns: string, order: 'ASC' | 'DESC'): string => `
SELECT ${columns} FROM (SELECT DISTINCT state FROM ${schema}.letter_tally WHERE fingerprint = $1) AS s
CROSS JOIN LATERAL (SELECT * FROM ${schema}.letter AS l WHERE l.fingerprint = $1 AND l.state = s.state
  ORDER BY buried_at ${order}, id ${order} LIMIT 1) AS found ORDER BY buried_at ${order}, id ${order} LIMIT 1`

/** What the group is without the letters that went: its times and its sample are of those that are left. */
const lookAnew = async (ask: Ask, schema: string, fingerprint: string): Promise<void> => {
  const columns = KEPT.split(', ')
    .map((name) => `found.${name}`)
    .join(', ')
  const [newest] = (
    await ask({ text: end(schema, `found.buried_at, ${columns}`, 'DESC'), values: [fingerprint] })
  ).rows
  if (!newest) {
    await ask({
      text: `
        WITH arrivals AS (DELETE FROM ${schema}.letter_arrival WHERE fingerprint = $1)
        DELETE FROM ${schema}.letter_group WHERE fingerprint = $1`,
      values: [fingerprint],
    })
    return
  }
  const [oldest] = (await ask({ text: end(schema, 'found.buried_at', 'ASC'), values: [fingerprint] })).rows
  const { letter } = keptOf(newest)
  await ask({
    text: `UPDATE ${schema}.letter_group SET first_at = $2, last_at = $3, sample = $4, error = $5 WHERE fingerprint = $1`,
    values: [
      fingerprint,
      oldest!.buried_at,
      newest.buried_at,
      textOf(letter.id),
      textOf(String(letter.error).slice(0, MOST_ERROR)),
    ],
  })
}
