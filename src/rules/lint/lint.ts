import type { RuleBook } from '../book.ts'
import { pathKey } from '../place.ts'
import { withoutPolicyFor } from '../policy-for.ts'
import type { BadRules, Problem } from '../problem.ts'
import { names, sameness } from './events.ts'
import { docsOf, findingOf, type LintFinding, type Remark, sorted } from './finding.ts'
import { guards } from './guards.ts'
import { idempotency } from './idempotency.ts'
import { severityOf } from './ids.ts'
import { alarms, letters } from './letters.ts'
import { overrides } from './overrides.ts'
import { policies } from './policies.ts'
import { queues } from './queues.ts'
import { redactions } from './redactions.ts'
import { rows } from './rows.ts'
import { type Check, type Facts, pairsIn } from './scope.ts'
import { silenced } from './silence.ts'
import { times } from './times.ts'
import { transport } from './transport.ts'
import { unused } from './unused.ts'

const CHECKS: readonly Check[] = [
  policies,
  guards,
  idempotency,
  letters,
  alarms,
  queues,
  times,
  overrides,
  names,
  sameness,
  rows,
  transport,
  unused,
  redactions,
]

/**
 * What somebody will be sorry for, by place. Nothing is said of what is built in unless the book makes it worse; what
 * many events have from one line is told once, at that line.
 */
export const lint = (given: RuleBook, facts: Facts = {}): readonly LintFinding[] => {
  // what a function of the app's own would say of a row with a star, nobody knows
  const book = withoutPolicyFor(given)
  const looks = CHECKS.map((check) => check({ book, facts }))
  const found = new Map<string, Remark>()
  const note = (remarks: Iterable<Remark> | undefined): void => {
    for (const remark of remarks ?? []) {
      const key = `${remark.id}\0${pathKey(remark.path)}`
      if (!found.has(key)) found.set(key, remark)
    }
  }
  for (const pair of pairsIn(book)) for (const look of looks) note(look.pair?.(pair))
  for (const look of looks) note(look.whole?.())
  const findings = [...found.values()].map((remark) => findingOf(book, remark))
  return sorted(book, silenced(book, facts, findings))
}

/** What a book that does not hold comes to, in the linter's words. */
export const loadFindings = ({ problems }: BadRules): readonly LintFinding[] => problems.map(loadFinding)

const loadFinding = ({ file, line, column, path, found, expected }: Problem): LintFinding => ({
  id: 'does-not-load',
  severity: severityOf('does-not-load'),
  file,
  line,
  column,
  path,
  reason: `found ${found}`,
  fix: `expected ${expected}`,
  docs: docsOf('does-not-load'),
})
