import type { Act, AuditEntry, Head } from '../core/audit.ts'
import type { Json } from '../core/json.ts'
import type { Millis } from '../core/time.ts'

/** An entry of the board that an act writes. */
export interface Post {
  readonly entry: string
  readonly value: Json
  readonly ttl: Millis
}

/**
 * The acts of operators, one chain per store however many processes write to it: whoever appends reads the head in the
 * transaction he appends in, and writes the new head in it. Nothing here changes or removes an entry.
 *
 * What an act does is in the same commit as its entry: either both are there or neither. For letters, `Letters.mark` is
 * given the act; for the board of the same store, `append` is given what to post.
 */
export interface Audit {
  /** With `posts`: in the same commit as these entries of the store's own board. */
  append(act: Act, posts?: readonly Post[]): Promise<AuditEntry>
  /** By number, at most `limit`, from this number on; without one from the first there is, whatever its number. */
  read(from: number | undefined, limit: number): Promise<readonly AuditEntry[]>
  /** The newest first, at most `limit`, of those numbered below `before`. */
  recent(limit: number, before?: number): Promise<readonly AuditEntry[]>
  /** Kept apart from the entries; undefined where none is kept. */
  head(): Promise<Head | undefined>
}
