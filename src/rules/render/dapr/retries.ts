import { classify, type Override } from '../../../core/classify.ts'
import type { Policy } from '../../../core/policy.ts'
import { totalsOf } from '../../../core/totals.ts'
import { showDuration } from '../../duration.ts'
import { showBackoff } from '../../show.ts'
import type { Loss } from './loss.ts'
import type { Retry } from './schema.ts'
import { goDuration } from './words.ts'

/** How a policy is said in Dapr, and what is lost by it. */
export const retryOf = (
  policy: Policy,
  statuses: string,
  exact: boolean,
): { readonly retry: Retry; readonly losses: readonly Loss[] } => {
  const { backoff, retries, window } = policy
  const at = `retries.${policy.name}`
  const matching = { httpStatusCodes: statuses }
  if (retries === 0) return { retry: { policy: 'constant', maxRetries: 0 }, losses: [] }
  const ended: readonly Loss[] =
    window === undefined
      ? []
      : [
          {
            at,
            lost: `the window of ${showDuration(window)}`,
            because: 'Dapr counts retries and no time; there is no field for it that it honours',
          },
        ]
  if (backoff.kind === 'none' || backoff.kind === 'fixed') {
    const delay = backoff.kind === 'none' ? 0 : backoff.delay
    const jitter: readonly Loss[] =
      backoff.kind === 'none' || backoff.jitter.kind === 'none'
        ? []
        : [{ at, lost: 'the jitter', because: "Dapr's constant retry has none" }]
    return {
      retry: { policy: 'constant', duration: goDuration(delay), maxRetries: retries, matching },
      losses: [...jitter, ...ended],
    }
  }
  if (exact) {
    const each = Math.max(1, Math.round(totalsOf(policy).expected / retries))
    const lost = `growth and jitter (${showBackoff(backoff)})`
    const because = `each retry waits ${goDuration(each)}, so that all together wait as long as is to be expected of the policy`
    return {
      retry: { policy: 'constant', duration: goDuration(each), maxRetries: retries, matching },
      losses: [{ at, lost, because }, ...ended],
    }
  }
  const max = longest(policy)
  return {
    retry: { policy: 'exponential', maxInterval: goDuration(max), maxRetries: retries, matching },
    losses: [
      {
        at,
        lost: `first delay, growth and jitter (${showBackoff(backoff)})`,
        because:
          "Dapr's exponential retry always begins with 0.5s and grows × 1.5, ± 50 %, whatever is written; --exact renders a constant delay instead",
      },
      {
        at,
        lost: `the exact cap of ${showDuration(max)}`,
        because: `Dapr adds its ± 50 % after the cap, so a wait may take ${showDuration(Math.round(max * 1.5))}`,
      },
      ...ended,
    ],
  }
}

/** The cap of a backoff that has one; the highest of its tiers where it has those. */
const longest = ({ backoff }: Policy): number => {
  const plain = backoff.kind === 'tiers' ? backoff.tiers.map((tier) => tier.backoff) : [backoff]
  return Math.max(
    ...plain.map((each) => ('max' in each ? each.max : each.kind === 'fixed' ? each.delay : 0)),
    1,
  )
}

/**
 * The HTTP answers that are retried, as Dapr writes lists of them: all that the tree, and the overrides that hold for
 * every service, do not judge permanent.
 */
export const retriedStatuses = (overrides: readonly Override[]): string => {
  const retried = Array.from({ length: 200 }, (_, i) => 400 + i).filter(
    (status) => classify({ status }, overrides).category !== 'permanent',
  )
  const ranges: [first: number, last: number][] = []
  for (const status of retried) {
    const open = ranges.at(-1)
    if (open && open[1] === status - 1) open[1] = status
    else ranges.push([status, status])
  }
  return ranges.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(',')
}
