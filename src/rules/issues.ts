import type { z } from 'zod'
import { oneOf, type Problem, showPath } from './problem.ts'
import { type Path, pathKey, type Tree } from './tree.ts'

type Issue = z.core.$ZodIssue

/** What the schema found, told in the book's own places and words. */
export const schemaProblems = (error: z.ZodError, file: string, tree: Tree): readonly Problem[] =>
  error.issues.flatMap((issue) => problemsOf(issue, [], file, tree))

const problemsOf = (issue: Issue, above: Path, file: string, tree: Tree): readonly Problem[] => {
  const path = [...above, ...issue.path.map(String)]
  if (issue.code === 'unrecognized_keys') {
    const known = issue.message.split(' ')
    return issue.keys.map((key) => ({
      file,
      ...tree.keyPlace([...path, key]),
      path: showPath([...path, key]),
      found: `the unknown key '${key}'`,
      expected: oneOf(known, key),
    }))
  }
  if (issue.code === 'invalid_union') {
    const inner = nearestBranch(issue.errors)
    if (inner) return inner.flatMap((each) => problemsOf(each, path, file, tree))
  }
  if (issue.code === 'invalid_key') {
    const expected = issue.issues[0]?.message ?? issue.message
    return [
      { file, ...tree.keyPlace(path), path: showPath(path), found: `the name '${path.at(-1)}'`, expected },
    ]
  }
  const found = describe(path, tree)
  return [{ file, ...tree.place(path), path: showPath(path), found, expected: issue.message }]
}

/** The branch that the value was meant for: the one that did not stumble over what it is as a whole. */
const nearestBranch = (branches: readonly Issue[][]): readonly Issue[] | undefined =>
  branches.find((issues) => !issues.some(({ code, path }) => path.length === 0 && WHOLE.has(code)))

const WHOLE = new Set(['invalid_type', 'invalid_value'])

const describe = (path: Path, tree: Tree): string => {
  const written = tree.written.get(pathKey(path))
  if (written !== undefined) return `'${cut(withoutSecret(written))}', filled in`
  let value = tree.root
  for (const name of path) {
    value =
      value !== null && typeof value === 'object' && Object.hasOwn(value, name)
        ? (value as Record<string, unknown>)[name]
        : undefined
  }
  if (value === undefined || value === null) return 'nothing'
  if (typeof value === 'string') return `'${cut(withoutSecret(value))}'`
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'a mapping' : String(value)
}

/** A URL's user and password have no place in a message. */
const withoutSecret = (text: string): string => text.replace(/\/\/[^/\s]*@/g, '//…@')

const cut = (text: string): string => (text.length <= 60 ? text : `${text.slice(0, 59)}…`)
