import type { z } from 'zod'
import { foundAt } from './found.ts'
import { keyPlace, type Path, valuePlace } from './place.ts'
import { oneOf, type Problem, showPath } from './problem.ts'
import type { Tree } from './tree.ts'

type Issue = z.core.$ZodIssue

/** To find the nearest name for each takes a while, and nobody reads so many. */
const MOST_KEYS = 1000

/** What the schema found, told in the book's own places and words. */
export const schemaProblems = (error: z.ZodError, tree: Tree): readonly Problem[] =>
  error.issues.flatMap((issue) => problemsOf(issue, [], tree))

const problemsOf = (issue: Issue, above: Path, tree: Tree): readonly Problem[] => {
  const path = [...above, ...issue.path.map(String)]
  if (issue.code === 'unrecognized_keys') {
    const known = issue.message.split(' ')
    return issue.keys.slice(0, MOST_KEYS).map((key) => ({
      ...keyPlace(tree, [...path, key]),
      path: showPath([...path, key]),
      found: `the unknown key '${key}'`,
      expected: oneOf(known, key),
    }))
  }
  if (issue.code === 'invalid_union') {
    const inner = nearestBranch(issue.errors)
    if (inner) return inner.flatMap((each) => problemsOf(each, path, tree))
  }
  if (issue.code === 'invalid_key') {
    const expected = issue.issues[0]?.message ?? issue.message
    return [{ ...keyPlace(tree, path), path: showPath(path), found: `the name '${path.at(-1)}'`, expected }]
  }
  const found = foundAt(tree, path)
  return [{ ...valuePlace(tree, path), path: showPath(path), found, expected: issue.message }]
}

/** The branch that the value was meant for: the one that did not stumble over what it is as a whole. */
const nearestBranch = (branches: readonly Issue[][]): readonly Issue[] | undefined =>
  branches.find((issues) => !issues.some(({ code, path }) => path.length === 0 && WHOLE.has(code)))

const WHOLE = new Set(['invalid_type', 'invalid_value'])
