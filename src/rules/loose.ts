import type { Path } from './place.ts'

/** A mapping of a book that nobody has checked yet. */
export type Loose = Readonly<Record<string, unknown>>

export const isMapping = (value: unknown): value is Loose =>
  value !== null && typeof value === 'object' && !Array.isArray(value)

/** The mapping that it is; an empty one where it is none. */
export const loose = (value: unknown): Loose => (isMapping(value) ? value : {})

/** What the schema can't say, because it takes two places of the book to see it. */
export interface Finding {
  readonly path: Path
  /** Whether the key is at fault, or the value. */
  readonly at: 'key' | 'value'
  readonly found: string
  readonly expected: string
}
