import type { Breaker } from '../../builtin.ts'
import { showDuration } from '../../duration.ts'
import type { Loss } from './loss.ts'
import type { CircuitBreaker } from './schema.ts'
import { goDuration } from './words.ts'

/**
 * How a breaker is said in Dapr. Ours opens on failure number N; `consecutiveFailures > N` would open one later, so
 * that it is written `>= N`.
 */
export const circuitBreakerOf = (
  breaker: Breaker,
): { readonly circuitBreaker: CircuitBreaker; readonly losses: readonly Loss[] } => {
  const { name, failures, open, probes, successes } = breaker
  const at = `circuitBreakers.${name}`
  const losses: (Loss | false)[] = [
    breaker.interval !== undefined && {
      at,
      lost: `interval ${showDuration(breaker.interval)}`,
      because:
        'in Dapr it clears all counts at fixed times, so that failures slower than it would never open the breaker; left out, only a success makes it forget',
    },
    successes !== probes && {
      at,
      lost: `its own number of successes that close it (${successes})`,
      because: `Dapr closes after as many successes as it lets probes through: ${probes}`,
    },
    breaker.rate !== undefined && {
      at,
      lost: 'the failure rate and its window',
      because: 'Dapr counts since the last change of state or interval, and has no sliding window',
    },
    breaker.spread !== undefined && {
      at,
      lost: 'the spread of the open time',
      because: 'Dapr opens for exactly the timeout',
    },
    breaker.probeLease !== undefined && {
      at,
      lost: 'the lease of probes',
      because: 'Dapr waits for a probe as long as its timeout lets it take',
    },
    breaker.ramp !== undefined && {
      at,
      lost: 'the ramp after closing',
      because: 'Dapr lets everything through at once',
    },
  ]
  return {
    circuitBreaker: {
      maxRequests: probes,
      timeout: goDuration(open),
      trip: `consecutiveFailures >= ${failures}`,
    },
    losses: losses.filter((loss) => loss !== false),
  }
}
