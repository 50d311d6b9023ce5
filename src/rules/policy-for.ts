import { ReprieveError } from '../core/error.ts'
import type { RuleBook } from './book.ts'
import { checkPolicy } from './check.ts'
import { schemaProblems } from './issues.ts'
import type { Loose } from './loose.ts'
import type { PolicyFor } from './policies.ts'
import { oneOf, type Problem, showPath } from './problem.ts'
import type { WrittenPolicy } from './schema.ts'
import { policyShape } from './shapes.ts'

/** The same book, with a function of the app's own that is asked for policies first. */
export const withPolicyFor = (book: RuleBook, policyFor: PolicyFor): RuleBook => ({ ...book, policyFor })

/** The book alone. */
export const withoutPolicyFor = ({ policyFor: _, ...book }: RuleBook): RuleBook => book

/** What the function says, checked like the book itself. Throws one `bad_rules` that names the pair. */
export const checkedAnswer = (
  { policies }: RuleBook,
  policyFor: PolicyFor,
  service: string,
  type: string,
): string | WrittenPolicy | undefined => {
  const refuse = (what: string, cause?: unknown): never => {
    throw new ReprieveError('bad_rules', `policyFor('${service}', '${type}') ${what}`, {
      fix: 'answer with the name of a policy, with a policy as it is written in a rule book, or with undefined',
      cause,
    })
  }
  let answer: unknown
  try {
    answer = policyFor(service, type)
  } catch (error) {
    return refuse(`threw: ${(error as Error)?.message ?? error}`, error)
  }
  if (answer === undefined) return undefined
  if (typeof answer === 'string') {
    if (policies.has(answer)) return answer
    return refuse(`answered '${answer}'; expected the name of a policy, ${oneOf(policies.keys(), answer)}`)
  }
  if (answer === null) return refuse('answered null')
  const { data, problems } = checked(answer, policies)
  if (data && problems.length === 0) return data
  const told = problems.map(
    ({ path, found, expected }) => `${path || 'it'}: found ${found}; expected ${expected}`,
  )
  return refuse(`answered with what is no policy\n  ${[...new Set(told)].join('\n  ')}`)
}

type Told = Pick<Problem, 'path' | 'found' | 'expected'>

const checked = (
  answer: unknown,
  policies: RuleBook['policies'],
): { readonly data: WrittenPolicy | undefined; readonly problems: readonly Told[] } => {
  const parsed = policyShape({ policies: new Set(policies.keys()) }).safeParse(answer, { jitless: true })
  const nowhere = new Map<never, never>()
  const start = { file: 'code', line: 1, column: 1 }
  const tree = { root: answer, problems: [], start, values: nowhere, keys: nowhere, written: nowhere }
  if (!parsed.success) return { data: undefined, problems: schemaProblems(parsed.error, tree) }
  const kinds = Object.fromEntries(
    [...policies].map(([name, { backoff }]) => [name, { backoff: backoff.kind }]),
  )
  const findings = [...checkPolicy([], answer as Loose, kinds)]
  return { data: parsed.data, problems: findings.map((each) => ({ ...each, path: showPath(each.path) })) }
}
