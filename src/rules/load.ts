import { buildBook, type RuleBook } from './book.ts'
import { checkBook } from './check.ts'
import type { Environment } from './environment.ts'
import { foundAt } from './found.ts'
import { schemaProblems } from './issues.ts'
import { namesIn } from './names.ts'
import { gather, type ReadOther } from './parts.ts'
import { keyPlace, ownPlace, pathKey, valuePlace } from './place.ts'
import { BadRules, type Problem, showPath } from './problem.ts'
import { bookSchema } from './schema.ts'

/**
 * The rule book that a text holds. The file's name is for messages and provenance only: reading it, those that it
 * extends, and the environment is the caller's business. Throws one `BadRules` (code `bad_rules`) that tells everything found.
 */
export const readRules = (
  text: string,
  file: string,
  env: Environment = {},
  readOther?: ReadOther,
): RuleBook => {
  const tree = gather(text, file, env, readOther)
  if (tree.root === undefined) throw new BadRules(tree.files, firstOfEach(tree.problems))
  // Made for this one text: compiling it first would take longer than using it.
  const parsed = bookSchema(namesIn(tree.root)).safeParse(tree.root, { jitless: true })
  const problems = [
    ...tree.problems,
    ...(parsed.error ? schemaProblems(parsed.error, tree) : []),
    ...checkBook(tree.root).map(({ path, at, found, expected }) => ({
      ...(at === 'key' ? keyPlace(tree, path) : valuePlace(tree, path)),
      path: showPath(path),
      // what a placeholder holds may be a secret, whoever found it
      found: tree.written.has(pathKey(path)) ? foundAt(tree, path) : found,
      expected,
    })),
  ]
  if (!parsed.success || problems.length > 0) throw new BadRules(tree.files, firstOfEach(problems))
  // what the book remembers of its text: where things stand, not what was written there
  const { values, keys, files } = tree
  return buildBook(parsed.data, files, (path, what) =>
    what === 'value' ? values.get(pathKey(path)) : ownPlace({ values, keys }, path),
  )
}

/** One problem for a place is enough: what follows from it would only hide it. */
const firstOfEach = (problems: readonly Problem[]): readonly Problem[] => {
  const seen = new Map<string, Problem>()
  for (const problem of problems) {
    const key = `${problem.file}:${problem.line}:${problem.column}:${problem.path}`
    if (!seen.has(key)) seen.set(key, problem)
  }
  return [...seen.values()]
}
