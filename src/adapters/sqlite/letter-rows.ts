import type { SQLInputValue } from 'node:sqlite'
import type { KeptLetter, LetterFilter, LetterState } from '../../contracts/letters.ts'
import { firstState, type Letter, letterEvent, readLetter } from '../../core/letter.ts'
import { type Repair, repairFromJson } from '../../core/repair.ts'
import { instant } from './parcels.ts'

export const KEEP = `
INSERT INTO reprieve_letter
  (id, buried_at, service, topic, category, kind, fingerprint, state, state_at, type, envelope, event_type, code)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`

/** What is asked for often stands in columns; the envelope holds all of it. */
export const columnsOf = (letter: Letter): SQLInputValue[] => {
  const { id, buriedAt, service, topic, category, kind, fingerprint, code = '' } = letter
  const { type, data } = letterEvent(letter)
  const at = instant(buriedAt)
  const names = [service, topic, category, kind, fingerprint]
  return [id, at, ...names, firstState(letter), at, type, data, letter.event.type, code]
}

/** The fingerprint stands in its column: that in the envelope may be of another version. */
export const keptOf = (row: Record<string, unknown>): KeptLetter => {
  const event = { id: '', source: '', type: row.type as string, extensions: {}, headers: {} }
  const letter = readLetter({ ...event, data: row.envelope as Uint8Array })
  if (!letter) throw new Error('a kept letter can not be read: the file was changed by something else')
  return {
    letter: { ...letter, fingerprint: row.fingerprint as string },
    state: row.state as LetterState,
    stateAt: row.state_at as number,
    ...(typeof row.repair === 'string' && { repair: readRepair(row.repair) }),
  }
}

export const readRepair = (text: unknown): Repair => {
  const repair = repairFromJson(JSON.parse(String(text)))
  if (!repair)
    throw new Error('a version of a letter can not be read: the file was changed by something else')
  return repair
}

const COLUMNS = [
  ['service', 'service'],
  ['topic', 'topic'],
  ['type', 'event_type'],
  ['category', 'category'],
  ['kind', 'kind'],
  ['code', 'code'],
  ['fingerprint', 'fingerprint'],
] as const

export interface Conditions {
  readonly where: readonly string[]
  readonly values: readonly SQLInputValue[]
}

/** What tallies tell, too: everything but ids, times and what stands inside the letters. */
export const tallied = (filter: LetterFilter): Conditions => {
  const where: string[] = []
  const values: SQLInputValue[] = []
  for (const [name, column] of COLUMNS) {
    const value = filter[name]
    if (value === undefined) continue
    where.push(`${column} = ?`)
    values.push(value)
  }
  if (filter.states) {
    where.push('state IN (SELECT value FROM json_each(?))')
    values.push(JSON.stringify(filter.states))
  }
  return { where, values }
}

export const isTallied = ({ ids, beginning, from, to }: LetterFilter): boolean =>
  ids === undefined && beginning === undefined && from === undefined && to === undefined

/** Only letters themselves tell this. */
export const ofLetters = ({ ids, beginning, from, to }: LetterFilter): Conditions => {
  const where: string[] = []
  const values: SQLInputValue[] = []
  if (ids) {
    where.push('id IN (SELECT value FROM json_each(?))')
    values.push(JSON.stringify(ids))
  }
  if (beginning !== undefined) {
    where.push('id >= ? AND id < ?')
    values.push(beginning, `${beginning}\u{10ffff}`)
  }
  if (from !== undefined) {
    where.push('buried_at >= ?')
    values.push(instant(from))
  }
  if (to !== undefined) {
    where.push('buried_at < ?')
    values.push(instant(to))
  }
  return { where, values }
}

export const all = (...some: readonly Conditions[]): { where: string; values: SQLInputValue[] } => {
  const where = some.flatMap((each) => each.where)
  return {
    where: where.length > 0 ? `WHERE ${where.join(' AND ')}` : '',
    values: some.flatMap((each) => each.values),
  }
}
