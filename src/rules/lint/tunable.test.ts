import { describe, expect, it } from 'vitest'
import { emptyBook, explain, readRules, rulesFor, serviceRules } from '../index.ts'

/** Whatever the rules decide can be decided in the book: each value that is built in differs here. */
const book = readRules(
  `version: 1
naming: { deadLetter: '{queue}.dlq', quarantine: '{deadLetter}.aside', consumerGroup: 'group.{service}' }
topics: { all: { types: ['*'], retention: 5d } }
policies:
  own: { backoff: exponential, initial: 300ms, multiplier: 3, max: 40s, firstExponent: 1, jitter: full, retries: 7, window: 11m, unknownRetries: 4 }
dependencies:
  smtp: { timeout: 7s, timeouts: { send: 6s }, breaker: { failures: 9, open: 9s, probes: 3, successes: 4, interval: 8s } }
defaults:
  concurrency: 3
  window: 9
  lease: 77s
services:
  mail:
    policy: own
    timeout: 8s
    breaker: { failures: 2, open: 3s, probes: 4, successes: 5, interval: 6s }
    dependencies: [smtp]
    idempotency: { pattern: upsert, store: redis, ttl: 4d, key: id+correlation }
    deadLetter: { retention: 6d, expire: 2d, reprocessing: automatic }
    overrides: [{ match: { status: 404 }, category: transient, reason: it lags }]
    poison: { failures: 5, within: 5m, categories: [transient], crashes: 7 }
    alerts:
      retryRate: { above: 33% }
      inflow: { above: 33 }
      lag: { above: 33 }
      breakerOpen: { above: 33s }
      depth: { above: 33 }
      oldest: { above: 33h }
      quarantined: { above: 33 }
      criticalBatches: { above: 33 }
    channel: email
    order: key
    afterDeath: hold
    batch: { size: 3, timeout: 3s, concurrency: 3, by: source }
    ttl: 3h
    priority: high
    criticality: high
    dataLoss: acceptable
`,
  'book.yaml',
)

type Leaf = readonly [path: string, value: unknown]

const leaves = (value: unknown, path = ''): readonly Leaf[] =>
  value !== null && typeof value === 'object'
    ? Object.entries(value).flatMap(([key, inner]) => leaves(inner, path === '' ? key : `${path}.${key}`))
    : [[path, value]]

/** What the pair is, how a value is measured, and the kind of backoff: the same, so that all its figures can differ. */
const GIVEN = /^(service|event|policy\.backoff|provenance.*|alerts\.\d+\.(metric|unit|over|severity|action))$/

describe('everything tunable', () => {
  it('is in the book: no value that is built in stays where the book says another', () => {
    const built = new Map(leaves(explain(rulesFor(emptyBook, 'mail', 'order.placed'))))
    const written = leaves(explain(rulesFor(book, 'mail', 'order.placed')))
    const figures = written.filter(([path]) => built.has(path) && !GIVEN.test(path))
    expect(figures.length).toBeGreaterThan(30)
    expect(figures.filter(([path, value]) => value !== null && built.get(path) === value)).toEqual([])
  })

  it('of services too', () => {
    const { concurrency, window, lease, consumerGroup } = serviceRules(book, 'mail')
    expect({ concurrency, window, lease, consumerGroup }).toEqual({
      concurrency: 3,
      window: 9,
      lease: 77_000,
      consumerGroup: 'group.mail',
    })
  })

  it('and of what is built in by name: policies, breakers, timeouts, dependencies', () => {
    for (const section of ['policies', 'breakers', 'timeouts', 'dependencies'] as const) {
      for (const [name, built] of emptyBook[section]) {
        const said = {
          policies: `{ extends: ${name}, retries: 77 }`,
          breakers: '{ failures: 77 }',
          timeouts: '77s',
          dependencies: '{ timeout: 77s }',
        }[section]
        const changed = readRules(`version: 1\n${section}: { ${name}: ${said} }\n`, 'book.yaml')[section].get(
          name,
        )
        expect(changed, `${section}.${name}`).not.toEqual(built)
        expect(JSON.stringify(changed)).toMatch(/77/)
      }
    }
  })
})
