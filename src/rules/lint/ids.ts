/** `error`: it will go wrong, or can't start. `warning`: it works, and somebody will be sorry. */
export type LintSeverity = 'error' | 'warning'

interface About {
  readonly severity: LintSeverity
  /** Which fact it can't be looked for without. */
  readonly needs?: 'transport' | 'instances'
}

/** Every check by its id. Ids never change and are never used again for something else. */
export const CHECKS = {
  'all-critical': { severity: 'warning' },
  'batch-timeout-past-delays': { severity: 'warning' },
  'batch-timeout-past-timeout': { severity: 'warning' },
  'breaker-without-open': { severity: 'error' },
  'cap-below-initial': { severity: 'warning' },
  'dead-letter-loop': { severity: 'error' },
  'dead-letter-name': { severity: 'warning' },
  'dead-letter-shared': { severity: 'warning' },
  'dedup-shorter-than-replay': { severity: 'warning' },
  'dedup-shorter-than-retries': { severity: 'error' },
  'dedup-shorter-than-topic': { severity: 'warning' },
  'default-timeout': { severity: 'warning' },
  'delay-past-transport': { severity: 'warning', needs: 'transport' },
  'dependency-outlasts-handler': { severity: 'warning' },
  'dependency-without-breaker': { severity: 'warning' },
  'does-not-load': { severity: 'error' },
  'generic-event-name': { severity: 'warning' },
  'memory-ledger': { severity: 'error', needs: 'instances' },
  'no-alerts': { severity: 'warning' },
  'no-idempotency': { severity: 'warning' },
  'no-jitter': { severity: 'warning' },
  'one-policy': { severity: 'warning' },
  'open-outlasts-window': { severity: 'warning' },
  'order-not-kept': { severity: 'error', needs: 'transport' },
  'override-matches-all': { severity: 'error' },
  'override-shadowed': { severity: 'warning' },
  'policy-against-criticality': { severity: 'warning' },
  'queue-shared': { severity: 'error' },
  'redact-cant-match': { severity: 'warning' },
  'redact-needed': { severity: 'warning' },
  'redact-nothing': { severity: 'error' },
  'redact-one-of-many': { severity: 'warning' },
  'retention-before-alert': { severity: 'warning' },
  'retries-beyond-ttl': { severity: 'warning' },
  'retries-beyond-window': { severity: 'warning' },
  'retries-outlast-topic': { severity: 'warning' },
  'retries-permanent': { severity: 'warning' },
  'retry-without-breaker': { severity: 'warning' },
  'row-misses-topic': { severity: 'warning' },
  'row-shadowed': { severity: 'warning' },
  'row-without-topic': { severity: 'warning', needs: 'transport' },
  'silence-unused': { severity: 'warning' },
  'timeout-past-lease': { severity: 'warning' },
  'tuning-initial': { severity: 'warning' },
  'tuning-jitter': { severity: 'warning' },
  'tuning-max': { severity: 'warning' },
  'unlimited-retries': { severity: 'error' },
  'unused-batcher': { severity: 'warning' },
  'unused-breaker': { severity: 'warning' },
  'unused-dependency': { severity: 'warning' },
  'unused-policy': { severity: 'warning' },
  'unused-store': { severity: 'warning' },
  'unused-timeout': { severity: 'warning' },
  'window-outlasts-broker': { severity: 'warning', needs: 'transport' },
} as const satisfies Record<string, About>

export type CheckId = keyof typeof CHECKS

/** A book that can't be read can't be silenced either, and a silence must not cover up another. */
const LOUD: readonly string[] = ['does-not-load', 'silence-unused']

/** What a book may silence. */
export const SILENCEABLE = Object.keys(CHECKS).filter((id) => !LOUD.includes(id)) as [CheckId, ...CheckId[]]

export const severityOf = (id: CheckId): LintSeverity => CHECKS[id].severity

export const needsOf = (id: CheckId): About['needs'] => (CHECKS[id] as About).needs
