import { createHash } from 'node:crypto'
import { canonical } from './canonical.ts'
import type { Json } from './json.ts'
import type { Instant } from './time.ts'

/** What somebody did by hand, or a job in somebody's place. */
export interface Act {
  readonly at: Instant
  readonly who: string
  /** 'replay', 'discard', 'pause', … */
  readonly act: string
  readonly target: string
  /** On how many it took effect. */
  readonly count: number
  readonly reason?: string
  readonly details: Details
}

export type Details = Readonly<Record<string, Json>>

/** An act in the chain: each entry's hash covers all of it, and the hash of the entry before. */
export interface AuditEntry extends Act {
  /** From 1, without a gap. */
  readonly seq: number
  readonly previous: string
  readonly hash: string
}

/** Where a chain ends. Kept beside the chain, for one that lost its end is a good chain otherwise. */
export interface Head {
  readonly count: number
  readonly hash: string
}

/** What comes before the first entry. */
export const START: Head = { count: 0, hash: '0'.repeat(64) }

export const headAt = ({ seq, hash }: AuditEntry): Head => ({ count: seq, hash })

/** The act as the entry that follows `previous`. `seq` differs only where the chain is broken already. */
export const link = (previous: Head, act: Act, seq = previous.count + 1): AuditEntry => {
  const entry = { ...act, seq, previous: previous.hash }
  return { ...entry, hash: hashOf(entry) }
}

/** A list, so that no name and no value can pass for another; the first item is the version of this format. */
const hashOf = ({
  seq,
  at,
  who,
  act,
  target,
  count,
  reason,
  details,
  previous,
}: Omit<AuditEntry, 'hash'>): string =>
  createHash('sha256')
    .update(canonical([1, seq, at, who, act, target, count, reason ?? null, details, previous]))
    .digest('hex')

/**
 * changed    the entry is not as it was written
 * gap        entries are missing before it
 * order      its number was there already, or is none
 * unlinked   it is whole, and follows another entry than the one before it
 * cut        the chain ends before the head that was kept
 * added      the chain goes on behind the head that was kept
 * head       the head that was kept is gone, or is another than the entry it names
 * rewritten  no entry has the hash that was written down elsewhere
 */
export const BREAKS = ['changed', 'gap', 'order', 'unlinked', 'cut', 'added', 'head', 'rewritten'] as const

export type BreakKind = (typeof BREAKS)[number]

export interface Break {
  /** The first entry that is not as it should be, or missing. */
  readonly seq: number
  readonly kind: BreakKind
}

/** What is wrong with an entry that should follow `previous`, if anything. */
export const breakAt = (previous: Head, entry: AuditEntry): Break | undefined => {
  const { hash, ...rest } = entry
  const wanted = previous.count + 1
  if (!Number.isSafeInteger(entry.seq) || entry.seq < wanted) return { seq: entry.seq, kind: 'order' }
  if (entry.seq > wanted) return { seq: wanted, kind: 'gap' }
  if (hashOf(rest) !== hash) return { seq: wanted, kind: 'changed' }
  return entry.previous === previous.hash ? undefined : { seq: wanted, kind: 'unlinked' }
}

/** What is wrong with where a chain ends, given the head that was kept for it. */
export const breakAtEnd = (end: Head, kept: Head | undefined): Break | undefined => {
  if (!kept) return end.count === 0 ? undefined : { seq: end.count, kind: 'head' }
  if (end.count < kept.count) return { seq: end.count + 1, kind: 'cut' }
  if (end.count > kept.count) return { seq: kept.count + 1, kind: 'added' }
  return end.hash === kept.hash ? undefined : { seq: end.count, kind: 'head' }
}

/** The first break of a whole chain; without the head that was kept a cut end is not seen. */
export const verify = (entries: readonly AuditEntry[], kept?: Head): Break | undefined => {
  let end = START
  for (const entry of entries) {
    const broken = breakAt(end, entry)
    if (broken) return broken
    end = headAt(entry)
  }
  return kept && breakAtEnd(end, kept)
}

/** An entry as stores keep it: one column for each part, details as canonical JSON. */
export const entryOfRow = (row: Readonly<Record<string, unknown>>): AuditEntry => ({
  seq: Number(row.seq),
  at: Number(row.at),
  who: row.who as string,
  act: row.act as string,
  target: row.target as string,
  count: Number(row.count),
  ...(row.reason !== null && { reason: row.reason as string }),
  details: detailsOf(row.details as string),
  previous: row.previous as string,
  hash: row.hash as string,
})

/** What is not as we write it was changed, though it may mean the same: shown as it stands, and found by its hash. */
const detailsOf = (text: string): Details => {
  try {
    const details = JSON.parse(text) as Details
    if (canonical(details) === text) return details
  } catch {
    // no JSON any more: the same answer
  }
  return { changed: text }
}
