import { isPrefix } from '../core/pattern.ts'
import type { RuleBook } from './book.ts'
import type { Path } from './place.ts'
import type { Provenance, Rules } from './rules.ts'
import type { WrittenDefaults, WrittenRules } from './schema.ts'

/** One place of the book that speaks of a pair. */
export interface Level<T> {
  readonly says: T
  readonly path: Path
}

/** From the nearest to the farthest: exact row, longer beginnings before shorter ones, service, defaults. */
export const levelsOf = (book: RuleBook, service: string, event: string): readonly Level<WrittenRules>[] => {
  const rows = book.services.get(service)?.events
  return [
    ...(rows ? rowsFor(rows, event) : []).map((row) => ({
      says: rows![row]!,
      path: ['services', service, 'events', row],
    })),
    ...serviceLevels(book, service),
  ]
}

export const serviceLevels = (book: RuleBook, service: string): readonly Level<WrittenDefaults>[] => {
  const own = book.services.get(service)
  return [
    ...(own ? [{ says: own, path: ['services', service] }] : []),
    { says: book.defaults, path: ['defaults'] },
  ]
}

export const coverageOf = (book: RuleBook, service: string, event: string): Rules['covered'] => {
  const own = book.services.get(service)
  if (!own) return 'default'
  const [nearest] = own.events ? rowsFor(own.events, event) : []
  if (nearest === undefined) return 'service'
  return isPrefix(nearest) ? 'prefix' : 'exact'
}

type Rows = Readonly<Record<string, WrittenRules>>

/** The rows with a star, longest first: they are few, and the others are found by their name. */
const starred = new WeakMap<Rows, readonly string[]>()

const rowsFor = (rows: Rows, event: string): readonly string[] => {
  let prefixes = starred.get(rows)
  if (!prefixes) {
    prefixes = Object.keys(rows)
      .filter(isPrefix)
      .sort((a, b) => b.length - a.length)
    starred.set(rows, prefixes)
  }
  const found = prefixes.filter((row) => row !== event && event.startsWith(row.slice(0, -1)))
  return Object.hasOwn(rows, event) ? [event, ...found] : found
}

/** Picks values from levels, and notes where each was found. */
export interface Picker<T> {
  readonly levels: readonly Level<T>[]
  readonly provenance: Readonly<Record<string, Provenance>>
  /** Whether anybody will ask where the values come from: to find that out takes longer than to find the values. */
  readonly noting: boolean
  /** The nearest word on `path`. */
  pick<V>(path: string, of: (says: T) => V | undefined): V | undefined
  pick<V>(path: string, of: (says: T) => V | undefined, otherwise: V): V
  /** Every word on `path`, nearest first. */
  all<V>(path: string, of: (says: T) => readonly V[] | undefined): readonly V[]
  note(path: string, from: Provenance): void
  /** Notes where something is written, by its path from the book's root. */
  noteWritten(path: string, at: Path): void
}

export const picker = <T>(book: RuleBook, levels: readonly Level<T>[], noting = true): Picker<T> => {
  const provenance: Record<string, Provenance> = {}
  const noteWritten = (path: string, at: Path): void => {
    if (!noting) return
    const place = book.placeOf(at)
    provenance[path] = place ? { file: place.file, line: place.line } : 'built in'
  }
  return {
    levels,
    provenance,
    noting,
    noteWritten,
    note: (path, from) => {
      if (noting) provenance[path] = from
    },
    pick: <V>(path: string, of: (says: T) => V | undefined, otherwise?: V): V | undefined => {
      for (const level of levels) {
        const value = of(level.says)
        if (value === undefined) continue
        if (noting) noteWritten(path, [...level.path, ...path.split('.')])
        return value
      }
      if (noting && otherwise !== undefined) provenance[path] = 'built in'
      return otherwise
    },
    all: <V>(path: string, of: (says: T) => readonly V[] | undefined): readonly V[] => {
      const found: V[] = []
      for (const level of levels) {
        for (const [index, value] of (of(level.says) ?? []).entries()) {
          noteWritten(`${path}.${found.length}`, [...level.path, path, String(index)])
          found.push(value)
        }
      }
      return found
    },
  } as Picker<T>
}
