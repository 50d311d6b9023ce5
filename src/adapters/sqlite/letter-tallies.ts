import type { SQLInputValue } from 'node:sqlite'
import type { LetterState } from '../../contracts/letters.ts'
import { ARRIVALS_KEPT, MOST_ERROR, slotOf } from '../../core/group.ts'
import { firstState, type Letter } from '../../core/letter.ts'
import type { Instant } from '../../core/time.ts'
import { countDeaths } from './deaths.ts'
import type { File } from './file.ts'
import { instant } from './parcels.ts'

/** In the order of the tally's primary key. */
export const TALLIED = [
  ...['fingerprint', 'state', 'service', 'topic'],
  ...['event_type', 'category', 'kind', 'code'],
] as const
const NAMES = TALLIED.join(', ')
const KEY = TALLIED.map((name) => `${name} = ?`).join(' AND ')

const COUNT = `
INSERT INTO reprieve_letter_tally (${NAMES}, count) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET count = count + excluded.count`
const EMPTY = `DELETE FROM reprieve_letter_tally WHERE ${KEY} AND count <= 0`
const LIVE = `
SELECT 1 FROM reprieve_letter_tally
WHERE fingerprint = ? AND state IN ('open', 'replaying', 'quarantined') LIMIT 1`
const GROUP = `
INSERT INTO reprieve_letter_group (fingerprint, first_at, last_at, sample, error, regressed_at)
VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET
  first_at = min(first_at, excluded.first_at),
  sample = iif(excluded.last_at >= last_at, excluded.sample, sample),
  error = iif(excluded.last_at >= last_at, excluded.error, error),
  last_at = max(last_at, excluded.last_at),
  regressed_at = coalesce(excluded.regressed_at, regressed_at)`
const RESOLVED = `
UPDATE reprieve_letter_group SET resolved_at = max(coalesce(resolved_at, 0), ?) WHERE fingerprint = ?`
const ARRIVED = `
INSERT INTO reprieve_letter_arrival (slot, fingerprint, count) VALUES (?, ?, ?)
ON CONFLICT DO UPDATE SET count = count + excluded.count`

/** What a letter counts for: the columns of a tally. */
export type Tallied = readonly SQLInputValue[]

export const talliedAs = (letter: Letter, state: LetterState): Tallied => {
  const { fingerprint, service, topic, event, category, kind, code = '' } = letter
  return [fingerprint, state, service, topic, event.type, category, kind, code]
}

/** Within the commit that keeps them: letters that were not there before. */
export const countArrivals = (file: File, letters: readonly Letter[], now: Instant): void => {
  if (letters.length === 0) return
  for (const [fingerprint, some] of Map.groupBy(letters, (letter) => letter.fingerprint))
    countGroup(file, fingerprint, some)
  change(
    file,
    letters.map((letter) => [talliedAs(letter, firstState(letter)), 1]),
  )
  countDeaths(file, letters)
  file.sql('DELETE FROM reprieve_letter_arrival WHERE slot < ?').run(slotOf(now - ARRIVALS_KEPT))
}

/**
 * Within the commit that brings it from elsewhere, in the state it had there. It died there, and is no death here; that it
 * is here anew is no sign that its group came back.
 */
export const countBrought = (file: File, letter: Letter, state: LetterState, stateAt: Instant): void => {
  joinGroup(file, letter.fingerprint, [letter], null)
  change(file, [[talliedAs(letter, state), 1]])
  if (state === 'resolved') file.sql(RESOLVED).run(instant(stateAt), letter.fingerprint)
}

const countGroup = (file: File, fingerprint: string, letters: readonly Letter[]): void => {
  const known = file
    .sql('SELECT resolved_at FROM reprieve_letter_group WHERE fingerprint = ?')
    .get(fingerprint)
  const resolvedAt = known?.resolved_at as number | null | undefined
  const first = letters[0]!
  const ended = typeof resolvedAt === 'number' && first.buriedAt > resolvedAt
  const back = ended && !file.sql(LIVE).get(fingerprint)
  joinGroup(file, fingerprint, letters, back ? instant(first.buriedAt) : null)
}

/** The group's row, there or widened. */
export const joinGroup = (
  file: File,
  fingerprint: string,
  letters: readonly Letter[],
  regressedAt: Instant | null,
): void => {
  const newest = letters.reduce((a, b) => (b.buriedAt >= a.buriedAt ? b : a))
  const firstAt = instant(letters.reduce((least, { buriedAt }) => Math.min(least, buriedAt), newest.buriedAt))
  const error = newest.error.slice(0, MOST_ERROR)
  file
    .sql(GROUP)
    .run(fingerprint, firstAt, instant(newest.buriedAt), newest.id, error.toWellFormed(), regressedAt)
  for (const [slot, some] of Map.groupBy(letters, ({ buriedAt }) => slotOf(instant(buriedAt))))
    file.sql(ARRIVED).run(slot, fingerprint, some.length)
}

/** Within the commit that removes them: their groups are what they would be without them. */
export const countGone = (
  file: File,
  gone: readonly { readonly id: string; readonly at: Instant; readonly tallied: Tallied }[],
): void => {
  change(
    file,
    gone.map(({ tallied }) => [tallied, -1]),
  )
  for (const [fingerprint, some] of Map.groupBy(gone, ({ tallied }) => tallied[0] as string)) {
    for (const [slot, ones] of Map.groupBy(some, ({ at }) => slotOf(at)))
      file.sql(LEFT).run(ones.length, slot, fingerprint)
    file.sql('DELETE FROM reprieve_letter_arrival WHERE fingerprint = ? AND count <= 0').run(fingerprint)
    narrowGroup(file, fingerprint)
  }
}

/** Each state is a piece of one index that lies in order: to ask for its ends reads a row each, however many there are. */
const narrowGroup = (file: File, fingerprint: string): void => {
  const states = file.sql('SELECT DISTINCT state FROM reprieve_letter_tally WHERE fingerprint = ?')
  const ends = states.all(fingerprint).map(({ state }) => {
    const oldest = file.sql(END_OF('ASC')).get(fingerprint, state!)!
    return { first: oldest.buried_at as number, last: file.sql(END_OF('DESC')).get(fingerprint, state!)! }
  })
  if (ends.length === 0)
    return void file.sql('DELETE FROM reprieve_letter_group WHERE fingerprint = ?').run(fingerprint)
  const newest = ends
    .map(({ last }) => last as { buried_at: number; id: string; error: string })
    .reduce((a, b) => (b.buried_at >= a.buried_at ? b : a))
  const firstAt = Math.min(...ends.map(({ first }) => first))
  const error = newest.error.slice(0, MOST_ERROR).toWellFormed()
  file.sql(NARROW).run(firstAt, newest.buried_at, newest.id, error, fingerprint)
}

const LEFT = 'UPDATE reprieve_letter_arrival SET count = count - ? WHERE slot = ? AND fingerprint = ?'
const END_OF = (way: 'ASC' | 'DESC') => `
SELECT buried_at, id, coalesce(json_extract(CAST(envelope AS TEXT), '$.error'), '') AS error
FROM (SELECT buried_at, id, number FROM reprieve_letter
  WHERE fingerprint = ? AND state = ? ORDER BY buried_at ${way}, id ${way} LIMIT 1)
JOIN reprieve_envelope ON letter = number`
const NARROW = `
UPDATE reprieve_letter_group SET first_at = ?, last_at = ?, sample = ?, error = ? WHERE fingerprint = ?`

/** So many letters that were counted alike, and what they are now. */
export interface Move {
  readonly from: Tallied
  readonly to: LetterState
  readonly at: Instant
  readonly count: number
}

/** Within the commit that marks them: tallies of before and after. */
export const countMoves = (file: File, moves: readonly Move[]): void => {
  change(
    file,
    moves.flatMap(({ from, to, count }) => [
      [from, -count],
      [from.with(1, to), count],
    ]),
  )
  for (const { from, to, at } of moves) if (to === 'resolved') file.sql(RESOLVED).run(instant(at), from[0]!)
}

export const change = (file: File, changes: readonly (readonly [Tallied, number])[]): void => {
  const sums = new Map<string, { tallied: Tallied; by: number }>()
  for (const [tallied, by] of changes) {
    const name = JSON.stringify(tallied)
    sums.set(name, { tallied, by: (sums.get(name)?.by ?? 0) + by })
  }
  for (const { tallied, by } of sums.values()) {
    if (by !== 0) file.sql(COUNT).run(...tallied, by)
    if (by < 0) file.sql(EMPTY).run(...tallied)
  }
}
