import { hash } from 'node:crypto'
import type { LedgerKey } from '../../core/ledger.ts'
import type { Instant } from '../../core/time.ts'

/** A row's name: what stands in the two columns of its key. */
export interface Name {
  readonly service: string
  readonly id: string
}

export const nameOf = ({ service, id }: LedgerKey): Name => ({ service: wordOf(service), id: wordOf(id) })

export const textOf = ({ service, id }: Name): string => `${service}\u0000${id}`

/** An index takes no more than about 2,700 bytes, four to a character at worst. */
const LONGEST = 300
const DIGEST = 'sha256:'

/** A word that can't stand in an index, or in PostgreSQL at all, is kept by its digest. */
export const wordOf = (word: string): string =>
  word.length <= LONGEST && !word.includes('\u0000') && word.isWellFormed() && !word.startsWith(DIGEST)
    ? word
    : DIGEST + hash('sha256', JSON.stringify(word), 'base64url')

/** Whole milliseconds, never earlier, and never beyond what a column and a number can hold. */
export const instant = (at: Instant): Instant => Math.min(Math.ceil(at), Number.MAX_SAFE_INTEGER)

/** By bytes, as the server sorts: characters beyond the first 65,536 would sort otherwise here. */
export const inOrder = <T>(items: readonly T[], name: (item: T) => Name): readonly T[] =>
  items
    .map((item) => ({ item, bytes: Buffer.from(textOf(name(item))) }))
    .sort((a, b) => Buffer.compare(a.bytes, b.bytes))
    .map(({ item }) => item)
