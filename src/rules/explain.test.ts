import { expect, it } from 'vitest'
import { emptyBook } from './book.ts'
import { explain } from './explain.ts'
import { readRules } from './load.ts'
import { rulesFor } from './resolve.ts'
import { explainText } from './tell.ts'

const book = readRules(
  `version: 1
stores: { redis: "redis://me:hunter2@host" }
services:
  mail-svc:
    criticality: high
    idempotency: { store: redis }
    events:
      dispatch.email:
        policy: { backoff: linear, step: 10s, attempts: 5, jitter: 20% }
        channel: email
        breaker: externalBreaker
        dependencies: [smtp]
        overrides: [{ match: { code: EAUTH }, category: permanent, reason: a password does not heal }]
        order: key
`,
  'book.yaml',
)
const email = rulesFor(book, 'mail-svc', 'dispatch.email')

it('tells programs everything, as JSON', () => {
  const told = explain(email)
  expect(JSON.parse(JSON.stringify(told))).toEqual(told)
  expect(told).toMatchObject({
    service: 'mail-svc',
    event: 'dispatch.email',
    consumerGroup: 'mail-svc',
    criticality: 'high',
    dataLoss: 'unacceptable',
    policy: {
      name: 'inline',
      backoff: 'linear',
      initialMs: 10_000,
      stepMs: 10_000,
      multiplier: null,
      maxDelayMs: 60_000,
      maxRetries: 4,
      windowMs: null,
      jitter: '±20%',
    },
    // 10, 20, 30, 40 s, each ± 20%
    delays: { leastMs: 80_000, expectedMs: 100_000, greatestMs: 120_000 },
    overrides: [{ match: { code: 'EAUTH' }, category: 'permanent', reason: 'a password does not heal' }],
    idempotency: { pattern: 'dedup', store: 'redis', ttlMs: 604_800_000, key: 'id' },
    deadLetter: {
      destination: '_mail-svc.deadletter.email',
      retentionMs: 2_592_000_000,
      reprocessing: 'manual',
    },
    breaker: { name: 'externalBreaker', failures: 5, openMs: 120_000, probes: 2 },
    timeoutMs: 15_000,
    dependencyTimeouts: { smtp: 30_000 },
    order: 'key',
    channel: 'email',
  })
  expect(told.provenance).toMatchObject({ channel: { file: 'book.yaml', line: 10 }, timeout: 'built in' })
})

it('has every field also where nothing applies', () => {
  const told = explain(rulesFor(emptyBook, 'svc', 'a.b'))
  expect(told).toMatchObject({
    breaker: null,
    channel: null,
    dependencyTimeouts: {},
    ttlMs: null,
    batch: null,
  })
  expect(told.policy).toMatchObject({ name: 'standard', initialMs: 1000, multiplier: 2, jitter: 'half' })
  expect(told.alerts.map(({ text }) => text)).toContain('inflow > 10 a minute')
  expect(Object.keys(told)).toEqual(Object.keys(explain(email)))
})

it('tells people the same in columns, with the line at the right', () => {
  const text = explainText(email)
  const lines = text.split('\n')
  expect(lines[0]).toBe('mail-svc consuming dispatch.email')
  expect(text).toMatch(/^criticality +high +book\.yaml:5$/m)
  expect(text).toMatch(/^policy +inline +book\.yaml:9$/m)
  expect(text).toMatch(/^ {2}backoff +linear 10s \+ 10s, at most 1m, jitter ±20% +book\.yaml:9$/m)
  expect(text).toMatch(/^override +code EAUTH is permanent: a password does not heal +book\.yaml:13$/m)
  expect(text).toMatch(/^timeout +15s +built in$/m)
  expect(text).toMatch(/^ {2}delays in all +80s to 100s to 2m +book\.yaml:9$/m)
  expect(text).toMatch(/^breaker +externalBreaker +book\.yaml:11$/m)
  expect(text).toMatch(
    /^ {2}trips +externalBreaker: opens on failure 5 for 2m, 2 probes, closes on 1 +built in$/m,
  )
  expect(text).toMatch(/^depends on smtp +30s a call +book\.yaml:12$/m)
  expect(text).toMatch(/^ {2}breaker +smtp: opens on failure 5 for 2m, 1 probe, closes on 1 +built in$/m)
  const columns = lines.slice(2).flatMap((line) => {
    const at = line.search(/(book\.yaml:\d+|built in)$/)
    return at === -1 ? [] : [at]
  })
  expect(new Set(columns).size).toBe(1)
})

it('never shows what a store is reached by', () => {
  expect(JSON.stringify(explain(email)) + explainText(email)).not.toMatch(/hunter2/)
})

it('has the fields that programs rely on, in every answer', () => {
  expect(explain(rulesFor(emptyBook, 'svc', 'a.b'))).toMatchObject({
    service: 'svc',
    event: 'a.b',
    consumerGroup: 'svc',
    covered: 'default',
    criticality: 'medium',
    dataLoss: 'unacceptable',
    policy: {
      name: 'standard',
      backoff: 'exponential',
      initialMs: 1000,
      multiplier: 2,
      maxDelayMs: 30_000,
      maxRetries: 5,
      windowMs: 300_000,
      jitter: 'half',
    },
    // 1 + 2 + 4 + 8 + 16 s, of which half jitter takes up to a half
    delays: { leastMs: 15_500, expectedMs: 23_250, greatestMs: 31_000 },
    overrides: [],
    idempotency: { pattern: 'dedup', store: 'app', ttlMs: 604_800_000, key: 'id' },
    deadLetter: { destination: '_svc.deadletter', retentionMs: 2_592_000_000, reprocessing: 'manual' },
    breaker: null,
    timeoutMs: 15_000,
    dependencyTimeouts: {},
    order: 'none',
    channel: null,
    alerts: expect.any(Array),
    provenance: { policy: 'built in' },
  })
})

it('answers a pair that was asked for before with the same rules', () => {
  expect(rulesFor(book, 'mail-svc', 'dispatch.email')).toBe(email)
  expect(email.provenance).toBe(email.provenance)
})
