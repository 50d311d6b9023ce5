import type { Policy } from '../../core/policy.ts'
import { totalsOf } from '../../core/totals.ts'
import { showDuration } from '../duration.ts'
import type { Rules } from '../rules.ts'
import { showBackoff } from '../show.ts'
import { code, grid } from './markdown.ts'
import { roughly } from './phrases.ts'
import { namerOf } from './who.ts'

/** The retry policies that hold somewhere, with the least, expected and greatest sum of their delays. */
export const policyTable = (pairs: readonly Rules[]): string => {
  const nameOf = namerOf(pairs)
  const used = Map.groupBy(pairs, ({ policy }) => JSON.stringify(policy))
  return grid(
    ['policy', 'backoff', 'retries', 'attempts', 'window', 'delays in all: least, expected, greatest', 'for'],
    [...used.values()]
      .map((who) => ({ policy: who[0]!.policy, who }))
      .map(({ policy, who }) => [
        code(policy.name),
        policy.retries === 0 ? 'no retry' : showBackoff(policy.backoff),
        String(policy.retries),
        String(policy.retries + 1),
        policy.window === undefined ? 'none' : showDuration(policy.window),
        totalWords(policy),
        nameOf(who),
      ]),
  )
}

const totalWords = (policy: Policy): string => {
  const { least, expected, greatest } = totalsOf(policy)
  return [least, expected, greatest].map(roughly).join(', ')
}
