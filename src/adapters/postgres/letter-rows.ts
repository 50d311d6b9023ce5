import { hash } from 'node:crypto'
import type {
  KeptLetter,
  KeptOutline,
  KeptSendable,
  LetterFilter,
  LetterState,
} from '../../contracts/letters.ts'
import { type Letter, letterEvent } from '../../core/letter.ts'
import { readLetter } from '../../core/letter-reading.ts'
import { readOutline, readSendable, writeHeaders, writeOutline } from '../../core/outline.ts'
import { type Repair, repairFromJson } from '../../core/repair.ts'
import type { Instant } from '../../core/time.ts'
import { instant, wordOf } from './keys.ts'
import { boundedOf, textOf } from './letter-words.ts'
import type { Ask } from './pool.ts'

export type Row = Readonly<Record<string, unknown>>

/** What a letter counts for: the columns of a tally, as they are kept. */
export const TALLIED = [
  ...['fingerprint', 'state', 'service', 'topic'],
  ...['event_type', 'category', 'kind', 'code'],
] as const
export type Tallied = readonly string[]

/** Letters come from queues that others may write to: whatever stands in them is made a text. */
export const talliedAs = (letter: Letter, state: LetterState): Tallied => {
  const { fingerprint, service, topic, event, category, kind, code = '' } = letter
  const texts = [topic, event.type, category, kind, code].map((text) => textOf(String(text)))
  return [boundedOf(String(fingerprint)), state, boundedOf(String(service)), ...texts]
}

export const talliedOf = (row: Row): Tallied => TALLIED.map((name) => row[name] as string)

/** A letter that is ours until the commit, and what becomes of it. */
export interface Locked {
  readonly word: string
  readonly from: Tallied
  state: LetterState
  /** Where it is marked. */
  at?: Instant
  resolvedAt?: Instant
}

export const digestOf = (words: readonly string[]): string =>
  hash('sha256', JSON.stringify(words), 'base64url')

const COLUMNS = ['id', 'buried_at', ...TALLIED, 'state_at', 'outline', 'headers', 'data', 'envelope'] as const
const TYPES: Readonly<Record<string, string>> = {
  ...{ buried_at: 'bigint', state_at: 'bigint', data: 'bytea', envelope: 'bytea' },
}
/** Any number of rows as one list a column. */
const GIVEN = `unnest(${COLUMNS.map((name, i) => `$${i + 1}::${TYPES[name] ?? 'text'}[]`).join(', ')})`

export const columnsOf = (
  letters: readonly Pick<KeptLetter, 'letter' | 'state' | 'stateAt'>[],
): readonly unknown[][] => {
  const rows = letters.map(({ letter, state, stateAt }) => {
    const tallied = talliedAs(letter, state)
    const apart = apartOf(letter)
    return [wordOf(letter.id), instant(letter.buriedAt), ...tallied, instant(stateAt), ...apart]
  })
  return COLUMNS.map((_, i) => rows.map((row) => row[i]))
}

/** Outline, headers, data, envelope. Where a column has other words than the letter it has no outline, and its envelope all. */
const apartOf = (letter: Letter): readonly unknown[] => {
  const { id, service, topic, event } = letter
  const same = wordOf(id) === id && boundedOf(String(service)) === service && textOf(String(topic)) === topic
  const outline = same ? writeOutline(letter) : undefined
  const enveloped = outline === undefined ? letter : { ...letter, event: { ...event, data: null } }
  const envelope = Buffer.from(letterEvent(enveloped).data!)
  if (outline === undefined) return [null, null, null, envelope]
  return [outline, writeHeaders(event), event.data && Buffer.from(event.data), envelope]
}

/** Answers with the words of those that were not there. In one order, whoever else keeps the same. */
export const insertLetters = async (
  ask: Ask,
  schema: string,
  columns: readonly unknown[][],
): Promise<Set<string>> => {
  const { rows } = await ask({
    name: `reprieve ${schema} keep`,
    text: `INSERT INTO ${schema}.letter (${COLUMNS.join(', ')})
      SELECT * FROM ${GIVEN} AS n (${COLUMNS.join(', ')}) ORDER BY n.id COLLATE "C"
      ON CONFLICT (id) DO NOTHING RETURNING id`,
    values: columns,
  })
  return new Set(rows.map(({ id }) => id as string))
}

/** What `keptOf` reads. */
export const KEPT = 'state, state_at, data, envelope, fingerprint'

/** The fingerprint stands in its column: that in the envelope may be of another version. */
export const keptOf = (row: Row): KeptLetter => {
  const event = { id: '', source: '', type: 'reprieve.letter', extensions: {}, headers: {} }
  const letter = readLetter({ ...event, data: row.envelope as Uint8Array })
  if (!letter) throw new Error('a kept letter can not be read: the table was changed by something else')
  const data = row.data === null ? letter.event.data : (row.data as Uint8Array)
  return {
    letter: { ...letter, event: { ...letter.event, data }, fingerprint: row.fingerprint as string },
    state: row.state as LetterState,
    stateAt: Number(row.state_at),
    ...(typeof row.repair === 'string' && { repair: readRepair(row.repair) }),
  }
}

/** What `outlineOf` reads, of a row that has an outline. */
export const OUTLINE = 'l.id, l.service, l.topic, l.buried_at, l.state, l.outline'

export const outlineOf = (row: Row): KeptOutline => {
  const { id, service, topic } = row as Row & Named
  const columns = { id, service, topic, buriedAt: Number(row.buried_at) }
  const letter = readOutline(columns, row.outline as string)
  const state = row.state as LetterState
  return typeof row.repair === 'string'
    ? { letter, state, repair: readRepair(row.repair) }
    : { letter, state }
}

interface Named {
  readonly id: string
  readonly service: string
  readonly topic: string
}

export const sendableOf = (row: Row): KeptSendable => {
  const { letter, state } = outlineOf(row)
  const headers = row.headers as string | null
  return { letter: readSendable(letter, headers, row.data as Uint8Array | null), state }
}

export const readRepair = (text: unknown): Repair => {
  const repair = repairFromJson(JSON.parse(String(text)))
  if (!repair)
    throw new Error('a version of a letter can not be read: the table was changed by something else')
  return repair
}

/** A condition in SQL; `put` takes a value and answers with its place. */
export type Condition = (put: Put) => string
export type Put = (value: unknown) => string

/** What tallies tell, too: everything but ids, times and what stands inside the letters. */
export const tallied = (filter: LetterFilter): readonly Condition[] => {
  const { service, topic, type, category, kind, code, fingerprint, states } = filter
  const same = (column: string, value: string | undefined, kept: (text: string) => string): Condition[] =>
    value === undefined ? [] : [(put) => `${column} = ${put(kept(value))}`]
  return [
    ...same('service', service, boundedOf),
    ...same('topic', topic, textOf),
    ...same('event_type', type, textOf),
    ...same('category', category, textOf),
    ...same('kind', kind, textOf),
    ...same('code', code, textOf),
    ...same('fingerprint', fingerprint, boundedOf),
    ...(states ? [(put: Put) => `state = ANY (${put(states)}::text[])`] : []),
  ]
}

export const isTallied = ({ ids, beginning, from, to }: LetterFilter): boolean =>
  ids === undefined && beginning === undefined && from === undefined && to === undefined

/** Only letters themselves tell this. `at`: how the time of burial is written, which decides on the index. */
export const ofLetters = (
  { ids, beginning, from, to }: LetterFilter,
  at = 'buried_at',
): readonly Condition[] => [
  ...(ids ? [(put: Put) => `id = ANY (${put(ids.map(wordOf))}::text[])`] : []),
  ...(beginning === undefined
    ? []
    : [(put: Put) => `id >= ${put(textOf(beginning))} AND id < ${put(behind(beginning))}`]),
  ...(from === undefined ? [] : [(put: Put) => `${at} >= ${put(instant(from))}`]),
  ...(to === undefined ? [] : [(put: Put) => `${at} < ${put(instant(to))}`]),
]

/** Behind all texts that begin so. */
export const behind = (beginning: string): string => `${textOf(beginning)}\u{10ffff}`

export const where = (conditions: readonly Condition[], put: Put): string =>
  conditions.length === 0 ? '' : `WHERE ${conditions.map((condition) => condition(put)).join(' AND ')}`

/** The values of a statement, in the order in which they were put. */
export const places = (): { readonly values: unknown[]; readonly put: Put } => {
  const values: unknown[] = []
  return { values, put: (value) => `$${values.push(value)}` }
}
