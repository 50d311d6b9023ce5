import type { KeptLetter } from '../../contracts/letters.ts'
import { type Event, isJsonType } from '../../core/event.ts'
import { type Letter, lastFailureAt } from '../../core/letter.ts'
import { iso } from '../../core/time.ts'
import type { AttemptRecord } from '../../core/trail.ts'
import { inert, inertLines } from '../print/inert.ts'
import { bad, calm, strong } from '../print/paint.ts'
import { columnsHere } from '../print/say.ts'
import { table } from '../print/table.ts'
import { padded, widthOf, wrapped } from '../print/width.ts'

const MOST_PAYLOAD = 4000

/** A letter as an operator reads it: what happened, how it came to that, and what was lost of it. */
export const letterText = (kept: KeptLetter, behind = 0, more: Facts = []): string => {
  const { letter, state, stateAt } = kept
  return text(letter, `${state} since ${iso(stateAt)}`, [
    ...summary(letter),
    ...more,
    ...(behind === 0 ? [] : [['held behind it', waits(behind)] as const]),
  ])
}

export type Facts = readonly (readonly [string, string])[]

const text = (letter: Letter, stands: string, about: Facts): string =>
  [
    `${strong(letter.id)}  ${stands}`,
    bad(inertLines(letter.error)),
    facts(about),
    section('trail', trail(letter)),
    section('stack', letter.stack === undefined ? '' : calm(inertLines(letter.stack))),
    section('event', facts(attributes(letter.event))),
    section('headers', facts(Object.entries(letter.event.headers))),
    section('payload', payload(letter.event)),
  ]
    .filter((part) => part !== '')
    .join('\n\n')

const section = (title: string, body: string): string =>
  body === '' ? '' : `${strong(title)}\n${indented(body)}`

const indented = (text: string): string => text.replace(/^/gm, '  ')

/** Whole lines, for who may want to copy what they say; with a limit they go on below. */
export const facts = (rows: readonly (readonly [string, string])[], most?: number): string => {
  const named = most === undefined ? NAMED : Math.max(...rows.map(([name]) => widthOf(name)))
  return rows
    .map(([name, value]) => {
      const lines = most === undefined ? [inert(value)] : wrapped(inert(value), most - named - 2)
      return `${calm(padded(inert(name), named))}  ${lines.join(`\n${' '.repeat(named + 2)}`)}`
    })
    .join('\n')
}

const NAMED = 16

const summary = (letter: Letter): readonly (readonly [string, string])[] => [
  ['service', letter.service],
  ['consumer group', letter.consumerGroup],
  ['topic', letter.topic],
  ['reason', letter.reason],
  ['failure', `${letter.category}, ${letter.kind}${letter.code === undefined ? '' : `, ${letter.code}`}`],
  ['attempts', attempts(letter)],
  ['first failed', iso(letter.firstFailureAt)],
  ['last failed', iso(lastFailureAt(letter))],
  ['buried', iso(letter.buriedAt)],
  ['destination', `${letter.destination} on ${letter.transport}`],
  ['group', letter.fingerprint],
  ...(letter.origin === undefined ? [] : [['replay', wayBack(letter.origin)] as const]),
  ...(letter.unread === undefined ? [] : [['not readable', letter.unread.join(', ')] as const]),
]

const wayBack = (origin: NonNullable<Letter['origin']>): string =>
  'nowhere' in origin ? `not possible: ${origin.nowhere}` : `to ${origin.to}`

const waits = (behind: number): string =>
  `${behind} with its order key; they go on when it is replayed to a good end, or discarded`

/** Of a letter that someone else wrote nobody knows how many were granted. */
const attempts = (letter: Letter): string => {
  const { trail, limit, reason } = letter
  return `${trail.spent}${reason === 'found' ? '' : ` of ${limit}`}${generation(letter)}`
}

const generation = ({ trail }: Letter): string =>
  trail.generation === 0 ? '' : `, replay ${trail.generation}`

const trail = ({ trail: { records, spent } }: Letter): string => {
  if (records.length === 0) return ''
  const room = roomHere()
  const rows = room !== undefined && room < TRAIL_TABLE ? stacked(records, room) : trailTable(records, room)
  const left = spent - records.length
  return left > 0 ? `${rows}\n${calm(`${left} between them are not kept`)}` : rows
}

/** With fewer columns hardly anything of the error would stand in a line. */
const TRAIL_TABLE = 76

const trailTable = (records: readonly AttemptRecord[], room: number | undefined): string =>
  table<AttemptRecord>(
    [
      { title: '#', of: ({ attempt }) => String(attempt), align: 'right' },
      { title: 'at', of: ({ at }) => iso(at) },
      { title: 'category', of: ({ category }) => category },
      { title: 'kind', of: ({ kind }) => kind },
      { title: 'error', of: errorOf, least: 20, wrap: true },
    ],
    records,
    room,
  )

/** One below the other, where a table has no room. */
const stacked = (records: readonly AttemptRecord[], room: number): string =>
  records
    .flatMap((record) => {
      const { attempt, at, category, kind } = record
      const below = [`${category}, ${kind}`, inert(errorOf(record))].flatMap((text) =>
        wrapped(text, room - 2),
      )
      return [`${attempt}. ${iso(at)}`, ...below.map((line) => `  ${line}`)]
    })
    .join('\n')

const errorOf = ({ name, error }: AttemptRecord): string => `${name}: ${error}`

/** What is shown is indented. */
const roomHere = (): number | undefined => {
  const columns = columnsHere()
  return columns === undefined ? undefined : columns - 2
}

const attributes = (event: Event): readonly (readonly [string, string])[] => {
  const { id, source, type, subject, time, datacontenttype, dataschema, extensions } = event
  const all = { id, source, type, subject, time, datacontenttype, dataschema, ...extensions }
  return Object.entries(all).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as const],
  )
}

const payload = (event: Event): string => {
  if (event.data === null) return calm('none')
  const text = readable(event)
  if (text === undefined) return bounded(Buffer.from(event.data).toString('hex'), event.data.byteLength)
  return bounded(inertLines(text), event.data.byteLength)
}

/** undefined: bytes that are no text. */
const readable = (event: Event): string | undefined => {
  let text: string
  try {
    text = utf8.decode(event.data!)
  } catch {
    return undefined
  }
  try {
    return isJsonType(event.datacontenttype) ? prettyJson(text) : text
  } catch {
    return text
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Numbers stand as they were written: an id of twenty digits must not be rounded on its way to a reader. */
const prettyJson = (text: string): string =>
  JSON.stringify(
    JSON.parse(text, (_, value, context?: { source?: string }) =>
      typeof value === 'number' ? exact(context?.source ?? String(value)) : value,
    ),
    null,
    2,
  )

const exact = (source: string): unknown =>
  (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(source)

const bounded = (text: string, bytes: number): string =>
  text.length <= MOST_PAYLOAD
    ? text
    : `${text.slice(0, MOST_PAYLOAD).toWellFormed()}…\n${calm(`${bytes} bytes in all; the whole of it with --json`)}`
