import { allMatches, isPrefix } from '../core/pattern.ts'
import type { RuleBook } from './book.ts'
import type { Provenance, Rules } from './rules.ts'
import type { WrittenDefaults, WrittenRules } from './schema.ts'
import { type Path, pathKey } from './tree.ts'

/** One place of the book that speaks of a pair. */
export interface Level<T> {
  readonly says: T
  readonly path: Path
}

/** From the nearest to the farthest: exact row, longer beginnings before shorter ones, service, defaults. */
export const levelsOf = (book: RuleBook, service: string, event: string): readonly Level<WrittenRules>[] => {
  const rows = book.services.get(service)?.events ?? {}
  return [
    ...allMatches(Object.keys(rows), event).map((row) => ({
      says: rows[row]!,
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
  const [nearest] = allMatches(Object.keys(own.events ?? {}), event)
  if (nearest === undefined) return 'service'
  return isPrefix(nearest) ? 'prefix' : 'exact'
}

/** Picks values from levels, and notes where each was found. */
export interface Picker<T> {
  readonly provenance: Readonly<Record<string, Provenance>>
  /** The nearest word on `path`. */
  pick<V>(path: string, of: (says: T) => V | undefined): V | undefined
  pick<V>(path: string, of: (says: T) => V | undefined, otherwise: V): V
  /** Every word on `path`, nearest first. */
  all<V>(path: string, of: (says: T) => readonly V[] | undefined): readonly V[]
  note(path: string, from: Provenance): void
  /** Where something is written, by its path from the book's root. */
  written(path: Path): Provenance
}

export const picker = <T>(book: RuleBook, levels: readonly Level<T>[]): Picker<T> => {
  const provenance: Record<string, Provenance> = {}
  const written = (path: Path): Provenance => {
    const line = book.lines.get(pathKey(path))
    return line === undefined || book.file === undefined ? 'built in' : { file: book.file, line }
  }
  return {
    provenance,
    written,
    note: (path, from) => {
      provenance[path] = from
    },
    pick: <V>(path: string, of: (says: T) => V | undefined, otherwise?: V): V | undefined => {
      for (const level of levels) {
        const value = of(level.says)
        if (value === undefined) continue
        provenance[path] = written([...level.path, ...path.split('.')])
        return value
      }
      if (otherwise !== undefined) provenance[path] = 'built in'
      return otherwise
    },
    all: (path, of) => {
      const found = levels.flatMap((level) =>
        (of(level.says) ?? []).map((value, index) => ({ value, at: [...level.path, path, String(index)] })),
      )
      for (const [index, { at }] of found.entries()) provenance[`${path}.${index}`] = written(at)
      return found.map(({ value }) => value)
    },
  } as Picker<T>
}
