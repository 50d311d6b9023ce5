import type { RawRecord } from './client.ts'

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

/** Header names are few and come again with every record. */
const written = new Map<string, Buffer>()

export const nameBytes = (name: string): Buffer => {
  let bytes = written.get(name)
  if (!bytes) {
    bytes = Buffer.from(name)
    if (written.size < 1_000) written.set(name, bytes)
  }
  return bytes
}

/** A name, and the value it had last: most attributes are the same in record after record. */
interface Seen {
  readonly bytes: Buffer
  readonly name: string
  value: Buffer
  text: string
  /** How often of late it was another value; where that is the rule, none is kept. */
  misses: number
}

const seen: (Seen | undefined)[] = new Array(256)
const NOTHING = Buffer.alloc(0)
const MOST_MISSES = 50
const SHORT = 100

/** The header as text. To compare a few bytes takes a fraction of the time to make them a string. */
export const readHeader = (
  key: Buffer,
  value: Buffer | null,
  to: (name: string, text: string) => void,
): void => {
  const place = (key.length * 31 + (key[key.length - 1] ?? 0)) & 0xff
  let known = seen[place]
  if (!known || !same(known.bytes, key)) {
    // Copied: the bytes of a record are a view on everything that was fetched with it.
    known = { bytes: Buffer.from(key), name: key.toString(), value: NOTHING, text: '', misses: 0 }
    seen[place] = known
  }
  to(known.name, value === null ? '' : textOf(known, value))
}

const textOf = (known: Seen, value: Buffer): string => {
  if (known.misses >= MOST_MISSES || value.length > SHORT) return value.toString()
  if (same(known.value, value)) {
    if (known.misses > 0) known.misses--
    return known.text
  }
  known.misses++
  known.value = Buffer.from(value)
  known.text = value.toString()
  return known.text
}

const same = (a: Buffer, b: Buffer): boolean => {
  if (a.length !== b.length) return false
  for (let at = a.length - 1; at >= 0; at--) if (a[at] !== b[at]) return false
  return true
}

/** The text of one header, found without reading the others. */
export const headerOf = (record: RawRecord, name: string): string | undefined => {
  const wanted = nameBytes(name)
  for (const [key, value] of record.headers) if (key?.equals(wanted)) return value?.toString() ?? ''
  return undefined
}
