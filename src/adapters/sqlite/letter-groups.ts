import type { SQLInputValue } from 'node:sqlite'
import type { Arrivals, Groups, KeptGroup, Tally } from '../../contracts/groups.ts'
import type { LetterState } from '../../contracts/letters.ts'
import { slotOf } from '../../core/group.ts'
import type { Letter } from '../../core/letter.ts'
import { appendTo } from './audit.ts'
import { deathsIn } from './deaths.ts'
import type { File } from './file.ts'
import { apartOf, KEPT, keptOf } from './letter-rows.ts'
import { change, joinGroup, TALLIED, talliedAs } from './letter-tallies.ts'
import { instant } from './parcels.ts'
import type { Writer } from './writer.ts'

type Row = Record<string, SQLInputValue>

const LIST = `
SELECT * FROM reprieve_letter_group
WHERE fingerprint >= ? AND fingerprint < ? AND NOT (fingerprint >= ? AND fingerprint < ?)
ORDER BY last_at DESC, fingerprint LIMIT ?`
const LETTERS = `
SELECT ${KEPT} FROM (SELECT * FROM reprieve_letter WHERE fingerprint = ? LIMIT ?) ${apartOf('number')}`
/** What is said of the group that letters come to stays; where nothing is said, what was said of the old one. */
const INHERIT = `
UPDATE reprieve_letter_group AS mine SET (resolved_at, regressed_at, tended_at, owner, note, ticket, snoozed_until) = (
  SELECT coalesce(mine.resolved_at, old.resolved_at), coalesce(mine.regressed_at, old.regressed_at),
    coalesce(mine.tended_at, old.tended_at), coalesce(mine.owner, old.owner), coalesce(mine.note, old.note),
    coalesce(mine.ticket, old.ticket), coalesce(mine.snoozed_until, old.snoozed_until)
  FROM reprieve_letter_group AS old WHERE old.fingerprint = ?)
WHERE fingerprint = ?`

export const groupsOf = (file: File, writer: Writer): Groups => ({
  list: (beginning, most, except) =>
    writer.read(() =>
      file
        .sql(LIST)
        .all(beginning, after(beginning), except ?? '', except === undefined ? '' : after(except), most)
        .map((row) => groupOf(row as Row)),
    ),
  tallies: (fingerprint) =>
    writer.read(() =>
      file
        .sql(
          `SELECT * FROM reprieve_letter_tally ${fingerprint === undefined ? '' : 'WHERE fingerprint = ?'}`,
        )
        .all(...(fingerprint === undefined ? [] : [fingerprint]))
        .map((row) => tallyOf(row as Row)),
    ),
  arrivals: (from, fingerprint) =>
    writer.read(() =>
      file
        .sql(
          `SELECT * FROM reprieve_letter_arrival WHERE slot >= ? ${fingerprint === undefined ? '' : 'AND fingerprint = ?'}`,
        )
        .all(slotOf(instant(from)), ...(fingerprint === undefined ? [] : [fingerprint]))
        .map(
          (row): Arrivals => ({
            fingerprint: row.fingerprint as string,
            at: row.slot as number,
            count: row.count as number,
          }),
        ),
    ),
  deaths: () => writer.read(() => deathsIn(file)),
  oldest: (states, service) =>
    writer.read(() => {
      const all = states.flatMap((state) => oldestIn(file, state, service))
      return all.length === 0 ? undefined : Math.min(...all)
    }),
  tend: (fingerprint, tending, at, act) =>
    writer.write(() => {
      const said = Object.entries(tending).filter(([, value]) => value !== undefined)
      const sets = said.map(([name]) => `${COLUMN[name as keyof typeof COLUMN]} = ?, `).join('')
      const values = said.map(([, value]) => (typeof value === 'number' ? instant(value) : value))
      const { changes } = file
        .sql(`UPDATE reprieve_letter_group SET ${sets} tended_at = ? WHERE fingerprint = ?`)
        .run(...values, instant(at), fingerprint)
      if (act && changes === 1) appendTo(file, act)
      return changes === 1
    }),
  regroup: (fingerprint, anew, most) => writer.write(() => regroup(file, fingerprint, anew, most), most),
})

const OLDEST = 'SELECT min(buried_at) AS at FROM reprieve_letter WHERE state = ?'
const GROUPS_OF = 'SELECT DISTINCT fingerprint FROM reprieve_letter_tally WHERE state = ? AND service = ?'
const OLDEST_OF = `
SELECT buried_at AS at FROM reprieve_letter WHERE fingerprint = ? AND state = ? AND service = ?
ORDER BY buried_at LIMIT 1`

/** Of a service the tallies tell in which groups its letters are; each of those lies in order. */
const oldestIn = (file: File, state: LetterState, service: string | undefined): readonly number[] => {
  const rows =
    service === undefined
      ? file.sql(OLDEST).all(state)
      : file
          .sql(GROUPS_OF)
          .all(state, service)
          .flatMap(({ fingerprint }) => file.sql(OLDEST_OF).all(fingerprint!, state, service))
  return rows.flatMap(({ at }) => (typeof at === 'number' ? [at] : []))
}

const COLUMN = { owner: 'owner', note: 'note', ticket: 'ticket', snoozedUntil: 'snoozed_until' } as const

const regroup = (file: File, old: string, anew: (letter: Letter) => string, most: number): number => {
  const moved = file
    .sql(LETTERS)
    .all(old, most)
    .map(keptOf)
    .map(({ letter, state }) => ({ letter, state, to: anew(letter) }))
  for (const { letter, to } of moved)
    file.sql('UPDATE reprieve_letter SET fingerprint = ? WHERE id = ?').run(to, letter.id)
  change(
    file,
    moved.flatMap(({ letter, state, to }) => {
      const from = talliedAs(letter, state)
      return [
        [from, -1],
        [from.with(0, to), 1],
      ] as const
    }),
  )
  for (const [to, some] of Map.groupBy(moved, (each) => each.to)) {
    joinGroup(
      file,
      to,
      some.map(({ letter }) => letter),
      null,
    )
    file.sql(INHERIT).run(old, to)
  }
  if (!file.sql('SELECT 1 FROM reprieve_letter WHERE fingerprint = ? LIMIT 1').get(old)) {
    file.sql('DELETE FROM reprieve_letter_group WHERE fingerprint = ?').run(old)
    file.sql('DELETE FROM reprieve_letter_arrival WHERE fingerprint = ?').run(old)
  }
  return moved.length
}

/** Behind all texts that begin so. */
const after = (beginning: string): string => `${beginning}\u{10ffff}`

const groupOf = (row: Row): KeptGroup => ({
  fingerprint: row.fingerprint as string,
  firstAt: row.first_at as number,
  lastAt: row.last_at as number,
  sample: row.sample as string,
  error: row.error as string,
  ...(row.regressed_at !== null && { regressedAt: row.regressed_at as number }),
  ...(row.tended_at !== null && { tendedAt: row.tended_at as number }),
  ...(row.owner !== null && { owner: row.owner as string }),
  ...(row.note !== null && { note: row.note as string }),
  ...(row.ticket !== null && { ticket: row.ticket as string }),
  ...(row.snoozed_until !== null && { snoozedUntil: row.snoozed_until as number }),
})

const tallyOf = (row: Row): Tally => {
  const [fingerprint, state, service, topic, type, category, kind, code] = TALLIED.map(
    (name) => row[name] as string,
  )
  return {
    ...({ fingerprint, service, topic, type, category, kind, state } as Tally),
    state: state as LetterState,
    ...(code !== '' && { code: code! }),
    count: row.count as number,
  }
}
