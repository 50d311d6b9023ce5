import type { Letter } from '../../core/letter.ts'
import { wordOf } from './keys.ts'
import { KEPT, keptOf, talliedAs } from './letter-rows.ts'
import { change, countArrivals, joinGroups } from './letter-tallies.ts'
import { boundedOf } from './letter-words.ts'
import type { Ask } from './pool.ts'

/** What is said of the group that letters come to stays; where nothing is said, what was said of the old one. */
const inherit = (schema: string): string => `
UPDATE ${schema}.letter_group AS mine SET
  resolved_at = coalesce(mine.resolved_at, old.resolved_at), regressed_at = coalesce(mine.regressed_at, old.regressed_at),
  tended_at = coalesce(mine.tended_at, old.tended_at), owner = coalesce(mine.owner, old.owner),
  note = coalesce(mine.note, old.note), ticket = coalesce(mine.ticket, old.ticket),
  snoozed_until = coalesce(mine.snoozed_until, old.snoozed_until)
FROM ${schema}.letter_group AS old WHERE old.fingerprint = $1 AND mine.fingerprint = ANY ($2::text[])`

/** Within a transaction. Whoever moves the same letters at once waits, and then finds them moved. */
export const regroup = async (
  ask: Ask,
  schema: string,
  old: string,
  anew: (letter: Letter) => string,
  most: number,
): Promise<number> => {
  const { rows } = await ask({
    text: `
      WITH chosen AS MATERIALIZED (SELECT id FROM ${schema}.letter WHERE fingerprint = $1 LIMIT $2)
      SELECT ${KEPT} FROM chosen JOIN ${schema}.letter AS l USING (id) WHERE l.fingerprint = $1
      ORDER BY l.id FOR UPDATE OF l`,
    values: [old, most],
  })
  const moved = rows.map(keptOf).map(({ letter, state }) => ({ letter, state, to: boundedOf(anew(letter)) }))
  const groups = new Map(
    [...Map.groupBy(moved, ({ to }) => to)].map(([to, some]) => [to, some.map(({ letter }) => letter)]),
  )
  if (moved.length > 0) {
    // the old one too, so that all are locked in the one order: it has these letters already, and stays as it is
    await joinGroups(
      ask,
      schema,
      new Map(groups).set(
        old,
        moved.map(({ letter }) => letter),
      ),
    )
    await ask({ text: inherit(schema), values: [old, [...groups.keys()]] })
    await ask({
      text: `
        UPDATE ${schema}.letter AS l SET fingerprint = n.fingerprint
        FROM unnest($1::text[], $2::text[]) AS n (id, fingerprint) WHERE l.id = n.id`,
      values: [moved.map(({ letter }) => wordOf(letter.id)), moved.map(({ to }) => to)],
    })
    await countArrivals(ask, schema, groups)
    await change(
      ask,
      schema,
      moved.flatMap(({ letter, state, to }) => {
        const from = talliedAs({ ...letter, fingerprint: old }, state)
        return [
          [from, -1],
          [from.with(0, to), 1],
        ] as const
      }),
    )
  }
  await ask({
    text: `
      WITH gone AS (
        DELETE FROM ${schema}.letter_group AS g WHERE g.fingerprint = $1
          AND NOT EXISTS (SELECT 1 FROM ${schema}.letter WHERE fingerprint = $1) RETURNING fingerprint)
      DELETE FROM ${schema}.letter_arrival AS a USING gone WHERE a.fingerprint = gone.fingerprint`,
    values: [old],
  })
  return moved.length
}
