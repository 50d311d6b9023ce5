import type { SQLInputValue } from 'node:sqlite'
import type { KeptLetter, LetterFilter, LetterState, Letters } from '../../contracts/letters.ts'
import { actOn } from '../../core/acts.ts'
import { ReprieveError } from '../../core/error.ts'
import { type Letter, letterEvent, readLetter } from '../../core/letter.ts'
import { appendTo } from './audit.ts'
import type { File } from './file.ts'
import { instant } from './parcels.ts'
import type { Writer } from './writer.ts'

const KEEP = `
INSERT INTO reprieve_letter
  (id, buried_at, service, topic, category, kind, fingerprint, state, state_at, type, envelope)
VALUES (?, ?, ?, ?, ?, ?, ?, 'open', ?, ?, ?) ON CONFLICT DO NOTHING`

const MARK = `
UPDATE reprieve_letter SET state = ?, state_at = ?
WHERE id = ? AND state IN (SELECT value FROM json_each(?))`

export const lettersOf = (file: File, writer: Writer): Letters => ({
  keep: async (letters) => {
    const rows = letters.map(columnsOf)
    return writer.write(
      () => rows.reduce((kept, row) => kept + Number(file.sql(KEEP).run(...row).changes), 0),
      rows.length,
    )
  },
  find: (filter, limit, after) =>
    writer.read(() => {
      const { where, values } = conditions(filter)
      if (after !== undefined) {
        const place = file.sql('SELECT buried_at FROM reprieve_letter WHERE id = ?').get(after)
        if (!place) throw new ReprieveError('unknown_letter', `there is no letter '${after}' to go on after`)
        where.push('(buried_at, id) < (?, ?)')
        values.push(place.buried_at as number, after)
      }
      return file
        .sql(
          `SELECT state, state_at, type, envelope FROM reprieve_letter ${all(where)} ORDER BY buried_at DESC, id DESC LIMIT ?`,
        )
        .all(...values, limit)
        .map(keptOf)
    }),
  count: (filter) =>
    writer.read(() => {
      const { where, values } = conditions(filter)
      return file.sql(`SELECT count(*) AS n FROM reprieve_letter ${all(where)}`).get(...values)!.n as number
    }),
  mark: (marks, act) =>
    writer.write(() => {
      const marked = marks.map(
        ({ id, from, to, at }) => file.sql(MARK).run(to, instant(at), id, JSON.stringify(from)).changes === 1,
      )
      const ids = act ? marks.flatMap(({ id }, i) => (marked[i] ? [id] : [])) : []
      if (act && ids.length > 0) appendTo(file, actOn(act, ids))
      return marked
    }, marks.length),
})

/** What is asked for often stands in columns; the envelope holds all of it. */
const columnsOf = (letter: Letter): SQLInputValue[] => {
  const { id, buriedAt, service, topic, category, kind, fingerprint } = letter
  const { type, data } = letterEvent(letter)
  const at = instant(buriedAt)
  return [id, at, service, topic, category, kind, fingerprint, at, type, data]
}

const keptOf = (row: Record<string, unknown>): KeptLetter => {
  const event = { id: '', source: '', type: row.type as string, extensions: {}, headers: {} }
  const letter = readLetter({ ...event, data: row.envelope as Uint8Array })
  if (!letter) throw new Error('a kept letter can not be read: the file was changed by something else')
  return { letter, state: row.state as LetterState, stateAt: row.state_at as number }
}

const COLUMNS = ['service', 'topic', 'category', 'kind', 'fingerprint'] as const

const conditions = (filter: LetterFilter): { where: string[]; values: SQLInputValue[] } => {
  const where: string[] = []
  const values: SQLInputValue[] = []
  for (const column of COLUMNS) {
    const value = filter[column]
    if (value === undefined) continue
    where.push(`${column} = ?`)
    values.push(value)
  }
  for (const [column, list] of [
    ['id', filter.ids],
    ['state', filter.states],
  ] as const) {
    if (!list) continue
    where.push(`${column} IN (SELECT value FROM json_each(?))`)
    values.push(JSON.stringify(list))
  }
  return { where, values }
}

const all = (where: readonly string[]): string => (where.length > 0 ? `WHERE ${where.join(' AND ')}` : '')
