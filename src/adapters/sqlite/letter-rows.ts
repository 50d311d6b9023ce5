import type { SQLInputValue } from 'node:sqlite'
import type { KeptLetter, LetterFilter, LetterState } from '../../contracts/letters.ts'
import { firstState, type Letter, letterEvent } from '../../core/letter.ts'
import { readLetter } from '../../core/letter-reading.ts'
import { writeHeaders, writeOutline } from '../../core/outline.ts'
import { type Repair, repairFromJson } from '../../core/repair.ts'
import type { File } from './file.ts'
import { bytesOf } from './letter-outlines.ts'
import { instant } from './parcels.ts'

const KEEP = `
INSERT INTO reprieve_letter (id, buried_at, service, topic, category, kind, fingerprint, state, state_at, type,
  event_type, code, outline)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`
const PUT_ENVELOPE = 'INSERT INTO reprieve_envelope (letter, envelope) VALUES (?, ?)'
const PUT_CONTENT = 'INSERT INTO reprieve_content (letter, headers, data) VALUES (?, ?, ?)'

/** A letter in the form of its rows. */
export interface WrittenLetter {
  readonly row: readonly SQLInputValue[]
  readonly envelope: SQLInputValue
  readonly content?: readonly SQLInputValue[]
}

/** What is asked for often stands in columns, what the event carries lies beside the envelope that holds all else. */
export const writtenLetter = (letter: Letter): WrittenLetter => {
  const { id, buriedAt, service, topic, category, kind, fingerprint, code = '', event } = letter
  const outline = writeOutline(letter)
  const { type, data } = letterEvent(outline === undefined ? letter : withoutData(letter))
  const at = instant(buriedAt)
  const names = [service, topic, category, kind, fingerprint]
  return {
    row: [id, at, ...names, firstState(letter), at, type, event.type, code, outline ?? null],
    envelope: data,
    ...(outline !== undefined && { content: [writeHeaders(event), event.data] }),
  }
}

const withoutData = (letter: Letter): Letter => ({ ...letter, event: { ...letter.event, data: null } })

/** Within a transaction. False: it is kept already, and stays as it is. */
export const insertLetter = (file: File, { row, envelope, content }: WrittenLetter): boolean => {
  const { changes, lastInsertRowid } = file.sql(KEEP).run(...row)
  if (changes === 0) return false
  file.sql(PUT_ENVELOPE).run(lastInsertRowid, envelope)
  if (content) file.sql(PUT_CONTENT).run(lastInsertRowid, ...content)
  return true
}

/** What `keptOf` reads, where letters and what lies apart of them are joined. */
export const KEPT = 'state, state_at, type, envelope, data, fingerprint'
export const apartOf = (number: string): string => `
CROSS JOIN reprieve_envelope AS apart ON apart.letter = ${number}
LEFT JOIN reprieve_content AS content ON content.letter = ${number}`

/** The fingerprint stands in its column: that in the envelope may be of another version. */
export const keptOf = (row: Record<string, unknown>): KeptLetter => {
  const event = { id: '', source: '', type: row.type as string, extensions: {}, headers: {} }
  const letter = readLetter({ ...event, data: row.envelope as Uint8Array })
  if (!letter) throw new Error('a kept letter can not be read: the file was changed by something else')
  const data = row.data === null ? letter.event.data : bytesOf(row.data as Uint8Array)
  return {
    letter: { ...letter, event: { ...letter.event, data }, fingerprint: row.fingerprint as string },
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
