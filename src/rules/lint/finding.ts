import type { RuleBook } from '../book.ts'
import type { Path, Place } from '../place.ts'
import { showPath } from '../problem.ts'
import { type CheckId, type LintSeverity, severityOf } from './ids.ts'

/** Something in a rule book that will go wrong, or that somebody will be sorry for. */
export interface LintFinding {
  readonly id: CheckId
  readonly severity: LintSeverity
  readonly file: string
  readonly line: number
  readonly column?: number
  /** Dotted, a name that holds dots in quotes: what `lint.silence` takes as `at`. */
  readonly path: string
  readonly reason: string
  readonly fix: string
  /** Where it is explained. */
  readonly docs: string
}

/** What a check says; where that is written is looked up later, once for each. */
export interface Remark {
  readonly id: CheckId
  readonly path: Path
  readonly reason: string
  readonly fix: string
}

export const docsOf = (id: CheckId): string => `docs/lint.md#${id}`

export const findingOf = (book: RuleBook, { id, path, reason, fix }: Remark): LintFinding => ({
  id,
  severity: severityOf(id),
  ...placeAround(book, path),
  path: showPath(path),
  reason,
  fix,
  docs: docsOf(id),
})

/** Where the path is written, or the nearest thing around it that is. */
const placeAround = (book: RuleBook, path: Path): Omit<Place, 'column'> & { readonly column?: number } => {
  for (let length = path.length; length > 0; length--) {
    const place = book.placeOf(path.slice(0, length))
    if (place) return { file: place.file, line: place.line, column: place.column }
  }
  return { file: book.file ?? '(a book without a file)', line: 1 }
}

/** By place; the files in the order in which the book names them. */
export const sorted = (book: RuleBook, findings: readonly LintFinding[]): readonly LintFinding[] => {
  const rank = new Map(book.files.map((file, index) => [file, index]))
  const of = ({ file }: LintFinding) => rank.get(file) ?? rank.size
  return [...findings].sort(
    (a, b) =>
      of(a) - of(b) ||
      a.line - b.line ||
      (a.column ?? 0) - (b.column ?? 0) ||
      compare(a.path, b.path) ||
      compare(a.id, b.id),
  )
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
