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
const names = new Map<string, Buffer>()
const known: { readonly bytes: Buffer; readonly name: string }[] = []

export const nameOf = (bytes: Buffer): string => {
  // By length and last letter: as good as a hash for names this few, and no string is made.
  const slot = (bytes.length * 31 + (bytes[bytes.length - 1] ?? 0)) & 0xff
  const last = known[slot]
  if (last?.bytes.equals(bytes)) return last.name
  const name = bytes.toString()
  known[slot] = { bytes: Buffer.from(bytes), name }
  return name
}

export const nameBytes = (name: string): Buffer => {
  let known = names.get(name)
  if (!known) {
    known = Buffer.from(name)
    if (names.size < 1_000) names.set(name, known)
  }
  return known
}

/** The text of one header, found without reading the others. */
export const headerOf = (record: RawRecord, name: string): string | undefined => {
  const wanted = nameBytes(name)
  for (const [key, value] of record.headers) if (key?.equals(wanted)) return value?.toString() ?? ''
  return undefined
}
