import type { LetterState } from '../../contracts/letters.ts'
import { MOST_ERROR, slotOf } from '../../core/group.ts'
import type { Letter } from '../../core/letter.ts'
import type { Instant } from '../../core/time.ts'
import { instant } from './keys.ts'
import { digestOf, TALLIED, type Tallied } from './letter-rows.ts'
import { textOf } from './letter-words.ts'
import type { Ask } from './pool.ts'

export const LIVE: readonly LetterState[] = ['open', 'replaying', 'quarantined']

/** The letters by the fingerprints of their groups, as they are kept. */
export type ByGroup = ReadonlyMap<string, readonly Letter[]>

/**
 * The groups' rows, there or widened, and ours until the commit: from then on what is read of these groups is true.
 * Answers when each was resolved last.
 */
export const joinGroups = async (ask: Ask, schema: string, groups: ByGroup) => {
  const rows = [...groups].map(([fingerprint, letters]) => {
    const newest = letters.reduce((a, b) => (b.buriedAt >= a.buriedAt ? b : a))
    const first = letters.reduce((least, { buriedAt }) => Math.min(least, buriedAt), newest.buriedAt)
    const error = textOf(String(newest.error).slice(0, MOST_ERROR))
    return [fingerprint, instant(first), instant(newest.buriedAt), textOf(newest.id), error]
  })
  const { rows: known } = await ask({
    name: `reprieve ${schema} join groups`,
    text: `
      INSERT INTO ${schema}.letter_group AS g (fingerprint, first_at, last_at, sample, error)
      SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::text[])
        AS n (fingerprint, first_at, last_at, sample, error)
      ORDER BY n.fingerprint COLLATE "C"
      ON CONFLICT (fingerprint) DO UPDATE SET
        first_at = least(g.first_at, excluded.first_at),
        sample = CASE WHEN excluded.last_at >= g.last_at THEN excluded.sample ELSE g.sample END,
        error = CASE WHEN excluded.last_at >= g.last_at THEN excluded.error ELSE g.error END,
        last_at = greatest(g.last_at, excluded.last_at)
      RETURNING fingerprint, resolved_at`,
    values: [0, 1, 2, 3, 4].map((i) => rows.map((row) => row[i])),
  })
  return new Map(known.map((row) => [row.fingerprint as string, asInstant(row.resolved_at)]))
}

const asInstant = (value: unknown): Instant | undefined => (value === null ? undefined : Number(value))

/** Locks the groups of letters that are there, in the one order. */
export const lockGroups = async (ask: Ask, schema: string, fingerprints: Iterable<string>): Promise<void> => {
  await ask({
    name: `reprieve ${schema} lock groups`,
    text: `SELECT 1 FROM ${schema}.letter_group WHERE fingerprint = ANY ($1::text[]) ORDER BY fingerprint FOR UPDATE`,
    values: [[...new Set(fingerprints)]],
  })
}

/** Says which groups came back: letters died after all of the group were at an end, and some of them resolved. */
export const noteBack = async (ask: Ask, schema: string, back: ReadonlyMap<string, Instant>) => {
  if (back.size === 0) return
  await ask({
    text: `
      UPDATE ${schema}.letter_group AS g SET regressed_at = n.at
      FROM unnest($1::text[], $2::bigint[]) AS n (fingerprint, at)
      WHERE g.fingerprint = n.fingerprint AND NOT EXISTS (
        SELECT 1 FROM ${schema}.letter_tally AS t
        WHERE t.fingerprint = n.fingerprint AND t.state = ANY ($3::text[]) AND t.count > 0)`,
    values: [[...back.keys()], [...back.values()].map(instant), LIVE],
  })
}

export const noteResolved = async (ask: Ask, schema: string, resolved: ReadonlyMap<string, Instant>) => {
  if (resolved.size === 0) return
  await ask({
    text: `
      UPDATE ${schema}.letter_group AS g SET resolved_at = greatest(coalesce(g.resolved_at, 0), n.at)
      FROM unnest($1::text[], $2::bigint[]) AS n (fingerprint, at) WHERE g.fingerprint = n.fingerprint`,
    values: [[...resolved.keys()], [...resolved.values()].map(instant)],
  })
}

export const countArrivals = async (ask: Ask, schema: string, groups: ByGroup): Promise<void> => {
  const slots = [...groups].flatMap(([fingerprint, letters]) =>
    [...Map.groupBy(letters, ({ buriedAt }) => slotOf(instant(buriedAt)))].map(
      ([slot, some]) => [slot, fingerprint, some.length] as const,
    ),
  )
  await ask({
    name: `reprieve ${schema} arrivals`,
    text: `
      INSERT INTO ${schema}.letter_arrival AS a (slot, fingerprint, count)
      SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[])
      ON CONFLICT (slot, fingerprint) DO UPDATE SET count = a.count + excluded.count`,
    values: [0, 1, 2].map((i) => slots.map((slot) => slot[i])),
  })
}

/** Adds to tallies, or takes from them. Those that come to nothing are gone. */
export const change = async (
  ask: Ask,
  schema: string,
  changes: readonly (readonly [Tallied, number])[],
): Promise<void> => {
  const sums = new Map<string, { tallied: Tallied; by: number }>()
  for (const [tallied, by] of changes) {
    const name = JSON.stringify(tallied)
    sums.set(name, { tallied, by: (sums.get(name)?.by ?? 0) + by })
  }
  const some = [...sums.values()].filter(({ by }) => by !== 0)
  if (some.length === 0) return
  const { rows } = await ask({
    name: `reprieve ${schema} tallies`,
    text: `
      INSERT INTO ${schema}.letter_tally AS t (digest, count, ${TALLIED.join(', ')})
      SELECT * FROM unnest($1::text[], $2::bigint[], ${TALLIED.map((_, i) => `$${i + 3}::text[]`).join(', ')})
      ON CONFLICT (fingerprint, digest) DO UPDATE SET count = t.count + excluded.count
      RETURNING digest, fingerprint, count`,
    values: [
      some.map(({ tallied }) => digestOf(tallied)),
      some.map(({ by }) => by),
      ...TALLIED.map((_, i) => some.map(({ tallied }) => tallied[i])),
    ],
  })
  const empty = rows.filter(({ count }) => Number(count) <= 0)
  if (empty.length === 0) return
  await ask({
    text: `DELETE FROM ${schema}.letter_tally AS t USING unnest($1::text[], $2::text[]) AS e (fingerprint, digest)
      WHERE t.fingerprint = e.fingerprint AND t.digest = e.digest`,
    values: [empty.map(({ fingerprint }) => fingerprint), empty.map(({ digest }) => digest)],
  })
}
