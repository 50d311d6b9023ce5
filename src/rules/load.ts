import { z } from 'zod'
import { POLICIES } from '../core/policy.ts'
import { buildBook, type RuleBook } from './book.ts'
import { BREAKERS, DEPENDENCIES, NO_BREAKER, STORES, TIMEOUTS } from './builtin.ts'
import { checkBook } from './check.ts'
import type { Environment } from './environment.ts'
import { schemaProblems } from './issues.ts'
import { BadRules, type Problem, showPath } from './problem.ts'
import { bookSchema, type Names } from './schema.ts'
import { readTree } from './tree.ts'

/**
 * The rule book that a text holds. The file's name is for messages and provenance only: reading it, and taking the
 * environment, is the caller's business. Throws one `BadRules` (code `bad_rules`) that tells everything found.
 */
export const readRules = (text: string, file: string, env: Environment = {}): RuleBook => {
  const tree = readTree(text, file, env)
  if (tree.root === undefined) throw new BadRules(file, tree.problems)
  // Made for this one text: compiling it first would take longer than using it.
  const parsed = bookSchema(namesIn(tree.root)).safeParse(tree.root, { jitless: true })
  const problems = [
    ...tree.problems,
    ...(parsed.error ? schemaProblems(parsed.error, file, tree) : []),
    ...checkBook(tree.root).map(({ path, at, found, expected }) => ({
      file,
      ...(at === 'key' ? tree.keyPlace(path) : tree.place(path)),
      path: showPath(path),
      found,
      expected,
    })),
  ]
  if (!parsed.success || problems.length > 0) throw new BadRules(file, firstOfEach(problems))
  return buildBook(parsed.data, file, tree.lines)
}

/** One problem for a place is enough: what follows from it would only hide it. */
const firstOfEach = (problems: readonly Problem[]): readonly Problem[] => {
  const seen = new Map<string, Problem>()
  for (const problem of problems) {
    const key = `${problem.line}:${problem.column}:${problem.path}`
    if (!seen.has(key)) seen.set(key, problem)
  }
  return [...seen.values()]
}

const namesIn = (root: unknown): Names => {
  const section = (name: string): readonly string[] => {
    const value = (root as Record<string, unknown> | null)?.[name]
    return value !== null && typeof value === 'object' ? Object.keys(value) : []
  }
  return {
    policies: new Set([...Object.keys(POLICIES), ...section('policies')]),
    breakers: new Set([...BREAKERS.keys(), ...section('breakers'), NO_BREAKER]),
    timeouts: new Set([...TIMEOUTS.keys(), ...section('timeouts')]),
    dependencies: new Set([...DEPENDENCIES.keys(), ...section('dependencies')]),
    stores: new Set([...STORES, ...section('stores')]),
  }
}

/** The schema of a rule book without names of its own, for editors. */
export const jsonSchema = (): object => z.toJSONSchema(bookSchema(namesIn({})), { io: 'input' })
