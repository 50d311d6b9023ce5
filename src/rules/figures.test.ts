import { describe, expect, it } from 'vitest'
import { emptyBook } from './book.ts'
import { explain, explainService } from './explain.ts'
import { readRules } from './load.ts'
import { rulesFor } from './resolve.ts'
import { dependencyTimeout, serviceRules } from './services.ts'
import { explainText } from './tell.ts'

/** The built-in figures as they were published, and all that a book may say over them. */

describe('built-in dependencies', () => {
  it.each([
    ['kafka', 5, 60, 1],
    ['redis', 3, 30, 1],
    ['postgres', 3, 30, 1],
    ['smtp', 5, 120, 1],
    ['sms', 3, 120, 1],
    ['webhook', 5, 60, 2],
    ['service', 3, 15, 1],
  ])('%s: opens on failure %d for %d s, %d probes', (name, failures, seconds, probes) => {
    expect(emptyBook.dependencies.get(name)?.breaker).toEqual({
      name,
      failures,
      open: seconds * 1000,
      probes,
      successes: 1,
    })
  })

  it.each([
    ['kafka', 'produce', 10],
    ['kafka', 'consume', 30],
    ['pubsub', 'publish', 10],
    ['redis', 'get', 5],
    ['redis', 'set', 5],
    ['service', 'invoke', 15],
    ['webhook', 'call', 30],
    ['smtp', 'send', 30],
    ['sms', 'send', 15],
    ['postgres', 'query', 10],
    ['jobs', 'schedule', 5],
  ])('%s %s: %d s', (name, operation, seconds) => {
    expect(dependencyTimeout(emptyBook, name, operation)).toBe(seconds * 1000)
  })

  it('the handler’s own breaker: 5 failures, 2 successes, 30 s, 1 probe', () => {
    expect(emptyBook.breakers.get('handlerBreaker')).toEqual({
      name: 'handlerBreaker',
      failures: 5,
      successes: 2,
      open: 30_000,
      probes: 1,
    })
  })
})

describe('a bare configuration', () => {
  it('is exponential, 3 attempts, 100 ms to 60 s, doubled, with jitter, with dead letters, without a breaker', () => {
    const bare = rulesFor(
      readRules('version: 1\nservices: { bot: { policy: {} } }\n', 'book.yaml'),
      'bot',
      'x',
    )
    expect(bare.policy).toEqual({
      name: 'inline',
      retries: 2,
      backoff: {
        kind: 'exponential',
        initial: 100,
        multiplier: 2,
        max: 60_000,
        firstExponent: 0,
        jitter: { kind: 'spread', ratio: 0.2 },
      },
    })
    expect(bare.deadLetter.destination).toBe('_bot.deadletter')
    expect(bare).not.toHaveProperty('breaker')
  })
})

const BOOK = `version: 1
breakers:
  shop: { failures: 4, rate: 50%, window: 30s, volume: 20, open: 1m, spread: 10%, probes: 2, probeLease: 5s, successes: 3, interval: 2m, ramp: 45s, quorum: 3 }
  calls: { rate: 25%, window: 100 }
dependencies:
  crm: { breaker: shop, budget: { ratio: 10%, perSecond: 2, burst: 7 } }
  crm-2: { extends: crm, budget: none }
  crm-3: { extends: crm, budget: { burst: 9 } }
defaults:
  batchers: { slow: { size: 100, timeout: 5s } }
services:
  shop:
    dependencies: [crm, crm-2, crm-3]
    breaker: calls
    demand: { poll: 250ms }
    batchers:
      quick: { size: 5, timeout: 100ms, by: source, priorities: [high, critical] }
      slow: { concurrency: 2 }
    batch: slow
    events:
      order.placed: { priority: high }
      order.seen: { batch: off }
      order.counted: { batch: { size: 9 } }
      order.moved: { policy: { backoff: decorrelated, initial: 100ms, max: 10s, attempts: 5 } }
`

describe('a book that says much', () => {
  const book = readRules(BOOK, 'book.yaml')
  const placed = rulesFor(book, 'shop', 'order.placed')
  const line = (number: number) => ({ file: 'book.yaml', line: number })

  it('breakers with every figure', () => {
    const told = explain(placed)
    expect(told.dependencies[0]?.breaker).toEqual({
      name: 'shop',
      failures: 4,
      rate: 0.5,
      window: { timeMs: 30_000 },
      volume: 20,
      openMs: 60_000,
      spread: 0.1,
      probes: 2,
      probeLeaseMs: 5000,
      successes: 3,
      intervalMs: 120_000,
      rampMs: 45_000,
      quorum: 3,
    })
    expect(told.breaker).toMatchObject({ name: 'calls', rate: 0.25, window: { calls: 100 } })
  })

  it('budgets, inherited and taken away', () => {
    expect(explain(placed).dependencies.map(({ budget }) => budget)).toEqual([
      { ratio: 0.1, perSecond: 2, burst: 7 },
      null,
      { ratio: 0.1, perSecond: 2, burst: 9 },
    ])
  })

  it('a batcher for its priority comes before the service’s word, off ends it', () => {
    const batchOf = (event: string) => rulesFor(book, 'shop', event).batch
    expect(placed.batch).toEqual({ name: 'quick', size: 5, timeout: 100, concurrency: 5, by: 'source' })
    expect(batchOf('order.x')).toEqual({ name: 'slow', size: 100, timeout: 5000, concurrency: 2, by: 'none' })
    expect(batchOf('order.seen')).toBeUndefined()
    expect(batchOf('order.counted')).toEqual({ size: 9, timeout: 2000, concurrency: 5, by: 'none' })
  })

  it('decorrelated backoff', () => {
    expect(rulesFor(book, 'shop', 'order.moved').policy).toMatchObject({
      retries: 4,
      backoff: { kind: 'decorrelated', initial: 100, multiplier: 3, max: 10_000 },
    })
  })

  it('demand and batchers of the service, each with its line', () => {
    expect(explainService(serviceRules(book, 'shop'))).toMatchObject({
      demand: { pollMs: 250, atOnce: 50, min: 5, max: 20 },
      batchers: [{ name: 'slow' }, { name: 'quick', priorities: ['high', 'critical'] }],
      provenance: { demand: line(15), 'batchers.slow': line(18), 'demand.atOnce': 'built in' },
    })
  })

  it('all of it in words', () => {
    const text = explainText(placed, serviceRules(book, 'shop'))
    expect(text).toMatch(
      /shop: opens on failure 4 or 50% failed of 30s for 1m ±10%, 2 probes, closes on 3, full again after 45s +book\.yaml:6$/m,
    )
    expect(text).toMatch(/^ {2}budget +10% of the calls and 2 a second, at most 7 at once +book\.yaml:6$/m)
    expect(text).toMatch(/^batch +quick: 5 or 100ms by source, 5 at once/m)
    expect(text).toMatch(/^demand +every 250ms, up to 50; 5 to 20 a worker +book\.yaml:15$/m)
  })
})

describe('what does not hold together', () => {
  it.each([
    [
      'services: { s: { batch: domain } }',
      /2:25 services\.s\.batch: found 'domain'; expected a batcher of that name/,
    ],
    [
      'services: { s: { batchers: { domain: {} }, events: { a: { batch: domian } } } }',
      /2:66 services\.s\.events\.a\.batch: found 'domian'.*did you mean 'domain'/,
    ],
    ['defaults: { demand: { min: 9, max: 9 } }', /2:28 defaults\.demand\.min: found 9 beside max 9/],
    ['breakers: { b: { window: 30s } }', /2:18 breakers\.b\.window: found 'window' without 'rate'/],
    [
      'dependencies: { d: { breaker: { volume: 5 } } }',
      /dependencies\.d\.breaker\.volume: found 'volume' without 'rate'/,
    ],
    ['defaults: { breaker: { window: 30s } }', /defaults\.breaker\.window: found 'window' without 'rate'/],
    [
      'services: { s: { breaker: { volume: 5 } } }',
      /services\.s\.breaker\.volume: found 'volume' without 'rate'/,
    ],
    [
      'services: { s: { events: { a: { breaker: { window: 30s } } } } }',
      /services\.s\.events\.a\.breaker\.window: found 'window' without 'rate'/,
    ],
    [
      'breakers: { b: { rate: 50%, window: 0 } }',
      /2:37 breakers\.b\.window: found 0; expected a number of calls/,
    ],
    ['breakers: { b: { rate: 0.5 } }', /2:24 breakers\.b\.rate: found 0\.5; expected a share/],
    ['dependencies: { d: { budget: { burst: 0 } } }', /2:39 dependencies\.d\.budget\.burst: found 0/],
    ['dependencies: { d: { budget: off } }', /2:30 dependencies\.d\.budget: found 'off'/],
    ['policies: { p: { backoff: decorrelated, jitter: full } }', /'jitter' beside backoff decorrelated/],
    ['services: { s: { batchers: { b: { priorities: [urgent] } } } }', /priorities\.0: found 'urgent'/],
  ])('%s', (text, told) => {
    expect(() => readRules(`version: 1\n${text}\n`, 'book.yaml')).toThrow(told)
  })
})

describe('placeholders', () => {
  const read = (text: string, env: Record<string, string> = {}) =>
    readRules(text.replaceAll('§', '$'), 'book.yaml', env)

  it('stand wherever a value stands: numbers, lists, choices, windows, shares, names', () => {
    const book = read(
      [
        'version: §{VERSION:-1}',
        'topics: { t: ["§{TYPE:-a.*}"] }',
        'breakers: { b: { failures: "§{N:-7}", rate: "§{RATE:-50%}", window: "§{CALLS:-100}" } }',
        'defaults:',
        '  order: §{ORDER:-key}',
        '  dependencies: ["§{FIRST}", sms]',
        '  overrides: [{ match: { status: "§{STATUS:-404}" }, category: "§{C:-transient}", reason: "§{WHY:-it is so}" }]',
        '  breaker: §{BREAKER:-b}',
        '  alerts: { depth: { above: "§{DEPTH:-5}" } }',
        '  idempotency: { ttl: "§{DAYS:-3}d" }',
      ].join('\n'),
      { FIRST: 'smtp' },
    )
    expect(rulesFor(book, 's', 'a.x')).toMatchObject({
      topic: 't',
      order: 'key',
      dependencies: [{ name: 'smtp' }, { name: 'sms' }],
      overrides: [{ match: { status: 404 }, category: 'transient' }],
      breaker: { name: 'b', failures: 7, rate: 0.5, window: { calls: 100 } },
      idempotency: { ttl: 259_200_000 },
    })
  })

  it('are not filled in keys, and their values are never told', () => {
    const secret = { X: 'hunter2' }
    for (const text of [
      'version: "§{X}"',
      'version: 1\nservices: { "§{X}": {} }',
      'version: 1\ndefaults: { dependencies: ["§{X}"] }',
      'version: 1\ndefaults: { concurrency: "§{X}" }',
      'version: 1\ndefaults: { batch: "§{X}" }',
      'version: 1\npolicies: { p: { extends: "§{X}" } }',
      'version: 1\npolicies: { p: { backoff: tiers, tiers: [{ upTo: "§{X}", backoff: none }] } }',
      'version: 1\ntopics: { a: ["§{X}"], b: ["§{X}"] }',
      'version: 1\nextends: "§{X}"',
      'version: 1\nextends: "§{X}:x"',
    ]) {
      let message = ''
      try {
        read(text, secret)
      } catch (error) {
        message = (error as Error).message
      }
      expect(message, text).toMatch(/book\.yaml:/)
      expect(message, text).not.toMatch(/hunter2/)
    }
  })
})
