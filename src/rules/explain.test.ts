import { expect, it } from 'vitest'
import { emptyBook } from './book.ts'
import { explain } from './explain.ts'
import { jsonSchema, readRules } from './load.ts'
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
  const columns = lines.slice(2).flatMap((line) => {
    const at = line.search(/(book\.yaml:\d+|built in)$/)
    return at === -1 ? [] : [at]
  })
  expect(new Set(columns).size).toBe(1)
})

it('never shows what a store is reached by', () => {
  expect(JSON.stringify(explain(email)) + explainText(email)).not.toMatch(/hunter2/)
})

it('gives a schema that editors can use', () => {
  const schema = jsonSchema() as { properties: Record<string, unknown>; required: string[] }
  expect(schema.required).toEqual(['version'])
  expect(Object.keys(schema.properties)).toContain('services')
})
