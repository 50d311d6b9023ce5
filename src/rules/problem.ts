import { ReprieveError } from '../core/error.ts'
import { nearest } from '../core/nearest.ts'

/** One thing that is wrong with a rule book, and where. */
export interface Problem {
  readonly file: string
  readonly line: number
  readonly column: number
  /** Dotted, a name that holds dots in quotes: `services.mail-svc.events."todo.task.created".policy`. */
  readonly path: string
  readonly found: string
  readonly expected: string
}

const MOST_SHOWN = 50

/** Everything that is wrong with a rule book, at once. */
export class BadRules extends ReprieveError {
  readonly problems: readonly Problem[]

  constructor(files: readonly string[], problems: readonly Problem[]) {
    const rank = (file: string): number => files.indexOf(file)
    const sorted = [...problems].sort(
      (a, b) => rank(a.file) - rank(b.file) || a.line - b.line || a.column - b.column,
    )
    const shown = sorted.slice(0, MOST_SHOWN).map((problem) => `  ${showProblem(problem)}`)
    const left = sorted.length - shown.length
    if (left > 0) shown.push(`  and ${left} more`)
    const count = sorted.length === 1 ? '1 problem' : `${sorted.length} problems`
    super('bad_rules', `${files[0]} has ${count}\n${shown.join('\n')}`)
    this.problems = sorted
  }
}

export const showProblem = ({ file, line, column, path, found, expected }: Problem): string =>
  `${file}:${line}:${column} ${path ? `${path}: ` : ''}found ${found}; expected ${expected}`

export const showPath = (path: readonly string[]): string =>
  path.map((name) => (/^[\w*-]+$/.test(name) ? name : JSON.stringify(name))).join('.')

const MOST_NAMES = 12

/** `one of a, b, c`, and which of them was probably meant; then a long list is not needed any more. */
export const oneOf = (names: Iterable<string>, found: unknown): string => {
  const all = [...names]
  const meant = typeof found === 'string' ? nearest(found, all) : undefined
  const list = all.length <= MOST_NAMES ? `one of ${all.join(', ')}` : `one of ${all.length} names`
  if (meant !== undefined) return `${list} (did you mean '${meant}'?)`
  return all.length > 100 ? list : `one of ${all.join(', ')}`
}
