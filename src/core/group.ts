import { FINGERPRINT_VERSION, fingerprint } from './fingerprint.ts'
import type { Letter } from './letter.ts'
import type { Instant, Millis } from './time.ts'

/** Arrivals of a group are counted by slots of this length. */
export const SLOT: Millis = 5 * 60_000
/** How long those counts are kept. */
export const ARRIVALS_KEPT: Millis = 48 * 60 * 60_000

export const slotOf = (at: Instant): Instant => Math.floor(at / SLOT) * SLOT

/** As much of an error as stands with its group. */
export const MOST_ERROR = 300

/** What lay at a destination and was written by someone else: no failure of ours has this name. */
export const FOUND = 'Found'

/** The fingerprint that this version gives to a letter that another one has written. */
export const fingerprintAnew = (letter: Letter): string => {
  const { category, kind, error, code, status, stack, service, event, reason } = letter
  const found = reason === 'found'
  const failure = {
    category,
    kind,
    name: letter.trail.records.at(-1)?.name ?? (found ? FOUND : ''),
    message: error,
    ...(code !== undefined && { code }),
    ...(status !== undefined && { status }),
    ...(stack !== undefined && { stack }),
    because: '',
  }
  return fingerprint(failure, { service, topic: found ? letter.destination : letter.topic, type: event.type })
}

/** How fingerprints of this version begin. */
export const THIS_VERSION = `${FINGERPRINT_VERSION}-`

/**
 * One that an earlier version gave, or none that can be read. What a later one gave stays: while two versions run side by
 * side each letter moves once, to the newest of them.
 */
export const isOutdated = (print: string): boolean => {
  const version = versionOf(print)
  return version === undefined || version < versionOf(THIS_VERSION)!
}

const versionOf = (print: string): number | undefined => {
  const [, digits] = /^f(\d{1,9})-/.exec(print) ?? []
  return digits === undefined ? undefined : Number(digits)
}
