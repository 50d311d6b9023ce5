import type { KeptOperation } from '../contracts/operations.ts'

/** What is decided of how many letters, in a word each: as a dry run tells it, and as it ended. */
export const decisionsOf = ({
  operation,
  counts,
  reasons,
}: KeptOperation): Readonly<Record<string, number>> => {
  const { kind, state } = operation
  const { waiting, skipped: _, ...others } = counts
  const flagged = reasons['needs approval'] ?? 0
  const asking = state === 'needs approval' ? (flagged === 0 ? waiting : flagged) : 0
  const { 'needs approval': __, ...why } = reasons
  const said = { [kind]: waiting - asking, 'needs approval': asking, ...others, ...why }
  return Object.fromEntries(Object.entries(said).filter(([, count]) => count > 0))
}
