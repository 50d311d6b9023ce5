import { POLICIES, type Policy } from '../core/policy.ts'
import type { RuleBook } from './book.ts'
import { DEFAULTS } from './builtin.ts'
import type { Picker } from './levels.ts'
import { buildPolicy } from './policies.ts'
import { checkedAnswer } from './policy-for.ts'
import type { WrittenPolicy, WrittenRules } from './schema.ts'

/** The policy of a pair: what the app's own function says, else the nearest word of the book. */
export const resolvePolicy = (
  book: RuleBook,
  service: string,
  event: string,
  { pick, note, noteWritten, provenance }: Picker<WrittenRules>,
): Policy => {
  const coded = book.policyFor && checkedAnswer(book, book.policyFor, service, event)
  if (coded !== undefined) note('policy', 'code')
  const named = coded ?? pick<WrittenRules['policy']>('policy', (says) => says.policy, DEFAULTS.policy)!
  if (typeof named === 'string') {
    noteWritten('policy.definition', ['policies', named])
    return book.policies.get(named) ?? POLICIES.standard
  }
  note('policy.definition', provenance.policy!)
  const base = named.extends === undefined ? undefined : book.policies.get(named.extends)
  return built(named, base)
}

/** One for each place that says it, however many events it holds for. */
const inPlace = new WeakMap<WrittenPolicy, Policy>()

const built = (own: WrittenPolicy, base: Policy | undefined): Policy => {
  const known = inPlace.get(own) ?? buildPolicy('inline', own, base)
  inPlace.set(own, known)
  return known
}
