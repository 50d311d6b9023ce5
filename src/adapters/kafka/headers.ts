import { bytesOf, textIn } from '../../core/binary-text.ts'
import { type RawRecord, readFields } from './batches.ts'

export const PREFIX = 'ce_'
export const CONTENT_TYPE = 'content-type'

/** Ours; a handler never sees them. */
export const OURS = 'reprieve-'
export const TRAIL = 'reprieve-trail'
export const DUE = 'reprieve-due'
export const TARGET = 'reprieve-topic'
export const COPY = 'reprieve-copy'
/** It was handed over before by a member that could not finish it. */
export const AGAIN = 'reprieve-again'
/** How often a member passed it on because it has no such subscription. */
export const PASSED = 'reprieve-passed'
/** Headers of the event that would be taken for the binding's or ours, as JSON. */
export const SET_ASIDE = 'reprieve-headers'
/** The content type of data that is itself a CloudEvent: as a header it would mean the structured mode. */
export const INNER_TYPE = 'reprieve-content-type'

/** Header names are few and come again with every record, and most of their values too. */
const written = new Map<string, { readonly name: Buffer; text: string; value: Buffer }>()

export const headerBytes = (
  name: string,
  text: string,
): { readonly name: Buffer; readonly value: Buffer } => {
  const known = written.get(name)
  if (known) {
    if (known.text === text) return known
    if (text.length > SHORT) return { name: known.name, value: bytesOf(text) }
    known.text = text
    known.value = bytesOf(text)
    return known
  }
  const fresh = { name: Buffer.from(name), text, value: bytesOf(text) }
  // what is kept is kept for good, and anyone may have written it
  if (written.size < 1_000 && name.length <= SHORT)
    written.set(name, text.length <= SHORT ? fresh : { ...fresh, text: '', value: NOTHING })
  return fresh
}

/** A name, and the value it had last: most attributes are the same in record after record. */
interface Seen {
  readonly bytes: Buffer
  readonly name: string
  value: Buffer
  text: string
  /** How often of late it was another value; where that is the rule, none is kept. */
  misses: number
  readonly kind: Kind
}

/** What a header is by its name, so that names are compared once and not for every record. */
export type Kind =
  | 'specversion'
  | 'id'
  | 'source'
  | 'type'
  | 'time'
  | 'content type'
  | 'trail'
  | 'label'
  | 'ours'
  | 'odd'
  | 'extension'
  | 'header'

const KINDS: ReadonlyMap<string, Kind> = new Map([
  [`${PREFIX}specversion`, 'specversion'],
  [`${PREFIX}id`, 'id'],
  [`${PREFIX}source`, 'source'],
  [`${PREFIX}type`, 'type'],
  [`${PREFIX}time`, 'time'],
  [CONTENT_TYPE, 'content type'],
  [TRAIL, 'trail'],
  // where a parcel goes and when: nothing that its event is made of
  ...[DUE, TARGET, COPY, AGAIN, PASSED].map((name) => [name, 'label'] as const),
  // seldom there, and no extensions
  ...['subject', 'dataschema', 'datacontenttype', 'data'].map((name) => [PREFIX + name, 'odd'] as const),
])

const kindOf = (name: string): Kind =>
  KINDS.get(name) ?? (name.startsWith(PREFIX) ? 'extension' : name.startsWith(OURS) ? 'ours' : 'header')

const seen: (Seen | undefined)[] = new Array(256)
const NOTHING = Buffer.alloc(0)
const MOST_MISSES = 50
const SHORT = 100

/**
 * Answers with the value of a record, after a look at every header as text. To compare a few bytes takes a
 * fraction of the time to make them a string.
 */
export const readTexts = (
  record: RawRecord,
  visit: (name: string, text: string, kind: Kind) => void,
  passLabels = false,
): Buffer | null =>
  readFields(record, (bytes, nameAt, nameLength, valueAt, valueLength) => {
    const known = nameIn(bytes, nameAt, nameLength)
    if (passLabels && known.kind === 'label') return
    visit(known.name, valueLength <= 0 ? '' : textOf(known, bytes, valueAt, valueLength), known.kind)
  })

const nameIn = (bytes: Buffer, at: number, length: number): Seen => {
  // by length and its last two letters: no two of those that come with every record fall on one place
  const place = (length * 31 + bytes[at + length - 1]! + bytes[at + length - 2]! * 7) & 0xff
  const known = seen[place]
  if (known && same(known.bytes, bytes, at, length)) return known
  const name = bytes.toString('utf8', at, at + length)
  const fresh = {
    bytes: Buffer.from(name),
    name,
    value: NOTHING,
    text: '',
    misses: 0,
    kind: kindOf(name),
  }
  if (length <= SHORT) seen[place] = fresh // as above
  return fresh
}

const textOf = (known: Seen, bytes: Buffer, at: number, length: number): string => {
  if (length <= SHORT && known.misses < MOST_MISSES) {
    if (same(known.value, bytes, at, length)) {
      if (known.misses > 0) known.misses--
      return known.text
    }
    known.misses++
    // Copied: the bytes of a record are a view on everything that was fetched with it.
    known.value = Buffer.from(bytes.subarray(at, at + length))
    known.text = textIn(known.value)
    return known.text
  }
  return textIn(bytes.subarray(at, at + length))
}

const same = (a: Buffer, b: Buffer, at: number, length: number): boolean => {
  if (a.length !== length) return false
  for (let n = length - 1; n >= 0; n--) if (a[n] !== b[at + n]) return false
  return true
}

/** What a parcel's record says for itself, and nothing made of the rest. */
export interface Label {
  readonly target: string | undefined
  /** 0: it does not say. */
  readonly due: number
  readonly again: boolean
}

export const labelOf = (record: RawRecord): Label => {
  let target: string | undefined
  let due = 0
  let again = false
  readFields(record, (bytes, nameAt, nameLength, valueAt, valueLength) => {
    const known = nameIn(bytes, nameAt, nameLength)
    if (known.name === TARGET) target = valueLength <= 0 ? '' : textOf(known, bytes, valueAt, valueLength)
    else if (known.name === AGAIN) again = true
    else if (known.name === DUE)
      due = Number(bytes.toString('latin1', valueAt, valueAt + Math.max(0, valueLength))) || 0
  })
  return { target, due, again }
}

/** The text of one header, where it has it. */
export const headerOf = (record: RawRecord, name: string): string | undefined => {
  let found: string | undefined
  readTexts(record, (each, text) => {
    if (each === name) found = text
  })
  return found
}
