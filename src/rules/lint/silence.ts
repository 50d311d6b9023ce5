import type { RuleBook } from '../book.ts'
import { findingOf, type LintFinding } from './finding.ts'
import { type CheckId, needsOf } from './ids.ts'
import type { Facts } from './scope.ts'

interface Silence {
  readonly check: CheckId
  readonly at?: string | undefined
}

/** What is left when the book's own silences have had their say, and a finding for each that silenced nothing. */
export const silenced = (
  book: RuleBook,
  facts: Facts,
  findings: readonly LintFinding[],
): readonly LintFinding[] => {
  const silences: readonly Silence[] = book.written.lint?.silence ?? []
  if (silences.length === 0) return findings
  const used = new Set<number>()
  const byCheck = Map.groupBy(
    silences.map((silence, index) => ({ ...silence, index })),
    ({ check }) => check,
  )
  const left = findings.filter((finding) => {
    const suiting = (byCheck.get(finding.id) ?? []).filter((silence) => suits(silence, finding))
    for (const { index } of suiting) used.add(index)
    return suiting.length === 0
  })
  const idle = silences.flatMap(({ check, at }, index) => {
    if (used.has(index) || !wasLookedFor(check, facts)) return []
    const where = at === undefined ? '' : ` at ${at}`
    return [
      findingOf(book, {
        id: 'silence-unused',
        path: ['lint', 'silence', String(index)],
        reason: `there is no ${check}${where} to be silenced`,
        fix: 'take it away, or mend its path: what is mended must be heard when it comes back',
      }),
    ]
  })
  return [...left, ...idle]
}

const suits = ({ at }: Silence, { path }: LintFinding): boolean => {
  if (at === undefined) return true
  return at.endsWith('*') && path !== at ? path.startsWith(at.slice(0, -1)) : path === at
}

/** A check that needs a fact nobody gave has found nothing yet. */
const wasLookedFor = (check: CheckId, facts: Facts): boolean => {
  const needs = needsOf(check)
  return needs === undefined || facts[needs] !== undefined
}
