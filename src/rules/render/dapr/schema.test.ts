import { describe, expect, it } from 'vitest'
import { readRules } from '../../load.ts'
import { resiliencyOf } from './resiliency.ts'
import { held, type ResiliencyDocument, resiliencySchema } from './schema.ts'

const book = readRules('version: 1\ndapr: { apps: { a: { policy: standard, timeout: fast } } }', 'r.yaml', {})
const good = resiliencyOf(book).document

/** A copy of it with one thing changed. */
const changed = (path: string, value: unknown): ResiliencyDocument => {
  const copy = structuredClone(good)
  const keys = path.split('.')
  let at = copy as unknown as Record<string, unknown>
  for (const key of keys.slice(0, -1)) at = at[key] as Record<string, unknown>
  at[keys.at(-1)!] = value
  return copy
}

describe('our own check of what is rendered', () => {
  it.for([
    ['an undefined retry', 'spec.targets.apps.a.retry', 'nobody'],
    ['an undefined timeout', 'spec.targets.apps.a.timeout', 'nobody'],
    ['an undefined breaker', 'spec.targets.apps.a.circuitBreaker', 'nobody'],
    ['a name that every object has', 'spec.targets.apps.a.retry', 'constructor'],
    ['a field that Dapr skips', 'spec.policies.retries.standard.initialInterval', '1s'],
    ['duration beside exponential', 'spec.policies.retries.standard.duration', '1s'],
    ['an interval', 'spec.policies.circuitBreakers.kafkaBreaker.interval', '60s'],
    ['a misspelt trip', 'spec.policies.circuitBreakers.kafkaBreaker.trip', 'failures >= 3'],
    ['days', 'spec.policies.timeouts.fast', '1d'],
    ['a name that Kubernetes refuses', 'metadata.name', 'A_b'],
  ] as const)('refuses %s', ([, path, value]) => {
    expect(() => held(resiliencySchema, changed(path, value))).toThrow('does not hold')
  })

  it('lets pass what we render', () => {
    expect(held(resiliencySchema, changed('metadata.name', 'todo'))).toMatchObject({ kind: 'Resiliency' })
  })
})
