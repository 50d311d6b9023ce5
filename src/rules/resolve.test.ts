import { describe, expect, it } from 'vitest'
import { emptyBook } from './book.ts'
import { destinationsFor } from './destinations.ts'
import { readRules } from './load.ts'
import { rulesFor } from './resolve.ts'
import { dependencyTimeout, serviceRules } from './services.ts'

const BOOK = `version: 1
naming:
  consumerGroup: "{service}-workers"
topics:
  todo: { types: [todo.*], retention: 3d }
policies:
  mailing: { extends: patient, retries: 9 }
defaults:
  timeout: 11s
  criticality: low
  deadLetter: { retention: 10d }
  overrides: [{ match: { code: E1 }, category: transient, reason: known to pass }]
services:
  mail-svc:
    timeout: 12s
    concurrency: 4
    idempotency: { store: redis }
    breaker: kafkaBreaker
    events:
      todo.*: { timeout: 13s, idempotency: { key: id+correlation } }
      todo.task.*:
        timeout: 14s
        deadLetter: { reprocessing: automatic }
      todo.task.created:
        timeout: 15s
        policy: critical
        idempotency: { pattern: upsert }
        overrides: [{ match: { status: 404 }, category: transient, reason: the replica lags }]
      dispatch.email:
        policy: mailing
        channel: email
        breaker: none
        dependencies: [smtp]
      dispatch.sms: { channel: sms, policy: { extends: mailing, window: 1h }, timeout: slow }
  stats-svc:
    consumerGroup: numbers
    lease: 5m
    window: 99
    poison: off
`
const book = readRules(BOOK, 'book.yaml')
const line = (number: number) => ({ file: 'book.yaml', line: number })

describe('the nearest word counts', () => {
  it.each([
    ['mail-svc', 'todo.task.created', 15_000, 25, 'exact'],
    ['mail-svc', 'todo.task.deleted', 14_000, 22, 'prefix'],
    ['mail-svc', 'todo.list.created', 13_000, 20, 'prefix'],
    ['mail-svc', 'other', 12_000, 15, 'service'],
    ['stats-svc', 'todo.task.created', 11_000, 9, 'service'],
    ['new-svc', 'todo.task.created', 11_000, 9, 'default'],
  ])('%s consuming %s: %d ms, from line %d', (service, event, timeout, from, covered) => {
    const rules = rulesFor(book, service, event)
    expect(rules).toMatchObject({ timeout, covered })
    expect(rules.provenance.timeout).toEqual(line(from))
  })

  it('value by value: a row takes what it leaves out from rows with a star, then service, then defaults', () => {
    const { idempotency, deadLetter, criticality, dataLoss, provenance } = rulesFor(
      book,
      'mail-svc',
      'todo.task.created',
    )
    expect(idempotency).toEqual({
      pattern: 'upsert',
      store: 'redis',
      ttl: 259_200_000,
      key: 'id+correlation',
    })
    expect(provenance).toMatchObject({
      'idempotency.pattern': line(27),
      'idempotency.store': line(17),
      'idempotency.key': line(20),
      'idempotency.ttl': line(5),
      'deadLetter.reprocessing': line(23),
      'deadLetter.retention': line(11),
      criticality: line(10),
      dataLoss: 'built in',
    })
    expect(deadLetter).toMatchObject({ reprocessing: 'automatic', retention: 864_000_000 })
    expect([criticality, dataLoss]).toEqual(['low', 'unacceptable'])
  })

  it('but overrides of all levels are kept, the nearest first', () => {
    const { overrides, provenance } = rulesFor(book, 'mail-svc', 'todo.task.created')
    expect(overrides.map(({ match }) => match)).toEqual([{ status: 404 }, { code: 'E1' }])
    expect(provenance).toMatchObject({ 'overrides.0': line(28), 'overrides.1': line(12) })
  })
})

describe('policies', () => {
  it('by name, with the line that chose it and the line that defines it', () => {
    const { policy, provenance } = rulesFor(book, 'mail-svc', 'dispatch.email')
    expect(policy).toMatchObject({
      name: 'mailing',
      retries: 9,
      window: 900_000,
      backoff: { initial: 2000, max: 60_000 },
    })
    expect(provenance).toMatchObject({ policy: line(30), 'policy.definition': line(7) })
  })

  it('in place, over another', () => {
    const { policy, provenance } = rulesFor(book, 'mail-svc', 'dispatch.sms')
    expect(policy).toMatchObject({ name: 'inline', retries: 9, window: 3_600_000 })
    expect(provenance).toMatchObject({ policy: line(34), 'policy.definition': line(34) })
  })

  it('built in', () => {
    const { policy, provenance } = rulesFor(book, 'mail-svc', 'todo.task.created')
    expect(policy.name).toBe('critical')
    expect(provenance).toMatchObject({ policy: line(26), 'policy.definition': 'built in' })
  })
})

describe('destinations', () => {
  it('have the channel in their name', () => {
    expect(rulesFor(book, 'mail-svc', 'dispatch.sms').deadLetter).toMatchObject({
      destination: '_mail-svc.deadletter.sms',
      quarantine: '_mail-svc.deadletter.sms.quarantine',
      channel: 'sms',
    })
  })

  it('are known before the first event of a pattern comes', () => {
    const names = destinationsFor(book, 'mail-svc', ['dispatch.*', 'todo.task.created']).map(
      ({ name }) => name,
    )
    expect(names.sort()).toEqual([
      '_mail-svc.deadletter',
      '_mail-svc.deadletter.email',
      '_mail-svc.deadletter.email.quarantine',
      '_mail-svc.deadletter.quarantine',
      '_mail-svc.deadletter.sms',
      '_mail-svc.deadletter.sms.quarantine',
    ])
  })

  it('after the queue, and with a time after which the broker drops the letters but not the poison', () => {
    const text =
      'version: 1\nnaming: { deadLetter: "{queue}.dlq" }\ndefaults: { deadLetter: { expire: 24h } }\n'
    const own = readRules(text, 'book.yaml')
    expect(destinationsFor(own, 'profile', ['user.registered'])).toEqual([
      { name: 'profile.user.registered.dlq', expire: 86_400_000 },
      { name: 'profile.user.registered.dlq.quarantine' },
    ])
    expect(rulesFor(own, 'profile', 'user.*').deadLetter.destination).toBe('profile.user.any.dlq')
    expect(rulesFor(own, 'profile', 'user.registered', 'people').deadLetter.destination).toBe(
      'profile.people.dlq',
    )
    expect(rulesFor(own, 'profile', 'x').provenance['deadLetter.destination']).toEqual(line(2))
  })
})

describe('guards', () => {
  it('name a breaker, or take it away', () => {
    expect(rulesFor(book, 'mail-svc', 'other').breaker).toMatchObject({ name: 'kafkaBreaker', failures: 5 })
    expect(rulesFor(book, 'mail-svc', 'dispatch.email')).not.toHaveProperty('breaker')
  })

  it('list dependencies with timeout and breaker', () => {
    const { dependencies, timeout } = rulesFor(book, 'mail-svc', 'dispatch.email')
    expect(dependencies).toMatchObject([
      { name: 'smtp', timeout: 30_000, breaker: { failures: 5, open: 120_000 } },
    ])
    expect(timeout).toBe(12_000)
    expect(rulesFor(book, 'mail-svc', 'dispatch.sms').timeout).toBe(30_000)
  })

  it('know a timeout for every call', () => {
    expect(dependencyTimeout(book, 'sms')).toBe(15_000)
    expect(dependencyTimeout(book, 'kafka', 'consume')).toBe(30_000)
    expect(dependencyTimeout(book, 'kafka', 'constructor')).toBe(10_000)
    expect(dependencyTimeout(book, 'unheard-of')).toBe(15_000)
  })
})

describe('poison, alerts and batches', () => {
  it('can be switched off', () => {
    expect(rulesFor(book, 'stats-svc', 'x')).not.toHaveProperty('poison')
    expect(rulesFor(book, 'mail-svc', 'x').poison).toEqual({
      failures: 3,
      within: 60_000,
      categories: ['unknown'],
      crashes: 3,
    })
  })

  it('merge value by value, alerts metric by metric', () => {
    const own = readRules(
      [
        'version: 1',
        'defaults:',
        '  poison: { failures: 5, categories: [unknown, transient] }',
        '  alerts: { depth: { from: 100, severity: critical }, errorShare: { above: 50%, atLeast: 10 } }',
        '  batch: { size: 50 }',
        'services: { s: { poison: { within: 2m }, alerts: { depth: { above: 7 }, lag: off }, batch: { by: source } } }',
      ].join('\n'),
      'book.yaml',
    )
    const { poison, alerts, batch } = rulesFor(own, 's', 'x')
    expect(poison).toEqual({ failures: 5, within: 120_000, categories: ['unknown', 'transient'], crashes: 3 })
    expect(batch).toEqual({ size: 50, timeout: 2000, concurrency: 5, by: 'source' })
    const shown = alerts.map(({ metric, over, threshold, severity }) =>
      [metric, over, threshold, severity].join(' '),
    )
    expect(shown).toEqual([
      'retryRate > 0.1 warning',
      'inflow > 10 critical',
      'breakerOpen > 300000 critical',
      'depth > 7 warning',
      'oldest > 172800000 warning',
      'errorShare > 0.5 warning',
      'quarantined > 0 critical',
      'criticalBatches > 0 critical',
    ])
    expect(alerts.find(({ metric }) => metric === 'errorShare')).toMatchObject({ atLeast: 10, unit: 'ratio' })
  })
})

describe('a service', () => {
  it('takes its own figures, then defaults, then what is built in', () => {
    expect(serviceRules(book, 'mail-svc')).toMatchObject({
      consumerGroup: 'mail-svc-workers',
      concurrency: 4,
      window: 8,
      lease: 45_000,
      provenance: { concurrency: line(16), consumerGroup: line(3), lease: 'built in' },
    })
    expect(serviceRules(book, 'stats-svc')).toMatchObject({
      consumerGroup: 'numbers',
      concurrency: 10,
      window: 99,
      lease: 300_000,
      provenance: { window: line(38), consumerGroup: line(36) },
    })
  })
})

describe('without a rule book', () => {
  it('sound defaults apply, all of them built in', () => {
    const rules = rulesFor(emptyBook, 'svc', 'a.b')
    expect(rules).toMatchObject({
      consumerGroup: 'svc',
      topic: 'a.b',
      covered: 'default',
      policy: { name: 'standard', retries: 5, window: 300_000 },
      timeout: 15_000,
      idempotency: { pattern: 'dedup', store: 'app', ttl: 604_800_000, key: 'id' },
      deadLetter: { destination: '_svc.deadletter', retention: 2_592_000_000, reprocessing: 'manual' },
      order: 'none',
      dependencies: [],
      overrides: [],
    })
    expect(new Set(Object.values(rules.provenance))).toEqual(new Set(['built in']))
    expect(serviceRules(emptyBook, 'svc')).toMatchObject({ concurrency: 10, window: 20, lease: 30_000 })
  })

  it('whatever the names', () => {
    expect(rulesFor(emptyBook, 'constructor', '__proto__').policy.name).toBe('standard')
    expect(rulesFor(book, 'mail-svc', 'toString').covered).toBe('service')
  })
})
