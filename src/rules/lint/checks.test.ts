import { describe, expect, it } from 'vitest'
import { readRules } from '../index.ts'
import { type Facts, lint } from './index.ts'

/** What docs/lint.md does not show: edges, and what must not be found. */
const ids = (text: string, facts?: Facts): readonly string[] =>
  lint(readRules(`version: 1\n${text}`, 'book.yaml'), facts).map(({ id }) => id)

const paths = (text: string, facts?: Facts): readonly string[] =>
  lint(readRules(`version: 1\n${text}`, 'book.yaml'), facts).map(({ path, id }) => `${path} ${id}`)

const policy = (figures: string) => `policies: { own: { ${figures} } }\nservices: { mail: { policy: own } }`

describe('the published ranges', () => {
  it.for([
    ['99ms', ['tuning-initial']],
    ['100ms', []],
    ['5s', []],
    ['5001ms', ['tuning-initial']],
  ] as const)('a first delay of %s', ([initial, expected]) => {
    expect(ids(policy(`initial: ${initial}, max: 1m, retries: 3`))).toEqual(expected)
  })

  it.for([
    ['9999ms', ['tuning-max']],
    ['10s', []],
    ['10m', []],
    ['600001ms', ['tuning-max']],
  ] as const)('a longest delay of %s', ([max, expected]) => {
    expect(ids(policy(`initial: 1s, max: ${max}, retries: 3`))).toEqual(expected)
  })

  it.for([
    ['0%', ['no-jitter']],
    ['0.1%', []],
    ['50%', []],
    ['50.1%', ['tuning-jitter']],
    ['none', ['no-jitter']],
    ['full', []],
    ['half', []],
    ['wide', []],
  ] as const)('jitter %s', ([jitter, expected]) => {
    expect(ids(policy(`jitter: ${jitter}, retries: 3`))).toEqual(expected)
  })

  it.for([
    ['99ms', ['tuning-initial']],
    ['100ms', []],
    ['10m', []],
    ['600001ms', ['tuning-max']],
  ] as const)('a fixed delay of %s, which is first and longest', ([delay, expected]) => {
    expect(ids(policy(`backoff: fixed, delay: ${delay}, retries: 3`))).toEqual(expected)
  })

  it('hold for linear steps and tiers only where they mean something', () => {
    expect(ids(policy('backoff: linear, step: 10s, max: 5m, retries: 4'))).toEqual([])
    const tiers = (second: string) => `backoff: tiers, retries: 9, tiers: [
      { upTo: 3, backoff: exponential, initial: 200ms, max: 2s }, { upTo: 9, backoff: fixed, ${second} }]`
    expect(ids(policy(tiers('delay: 5m')))).toEqual([])
    expect(paths(policy(tiers('delay: 11m, jitter: none')))).toEqual([
      'policies.own.tiers.1.delay tuning-max',
      'policies.own.tiers.1.jitter no-jitter',
    ])
  })

  it('are not looked at where nothing is retried, nor told again where they are inherited', () => {
    expect(ids(policy('initial: 1ms, max: 1d, jitter: none, retries: 0'))).toEqual([])
    expect(
      paths(`policies:
  base: { initial: 20ms, jitter: none, retries: 3 }
  own: { extends: base, retries: 4 }
services: { mail: { policy: own } }`),
    ).toEqual(['policies.base.initial tuning-initial', 'policies.base.jitter no-jitter'])
  })

  it('hold for policies in place too', () => {
    expect(
      paths('services: { mail: { events: { a.b: { policy: { initial: 1ms, retries: 2 } } } } }'),
    ).toEqual(['services.mail.events."a.b".policy.initial tuning-initial'])
  })
})

describe('retries', () => {
  it('are as good as endless beyond 100 without a window', () => {
    expect(ids(policy('retries: 100'))).toEqual([])
    expect(ids(policy('attempts: 102'))).toEqual(['unlimited-retries'])
    expect(ids(policy('retries: 1000, window: 6d'))).toEqual([])
  })

  it('fit their window if they do so on average', () => {
    const fixed = (window: string) =>
      policy(`backoff: fixed, delay: 10s, jitter: 50%, retries: 6, window: ${window}`)
    expect(ids(fixed('60s'))).toEqual([])
    expect(ids(fixed('59s'))).toEqual(['retries-beyond-window'])
    expect(ids(policy('backoff: decorrelated, initial: 1s, max: 10s, retries: 5, window: 1m'))).toEqual([])
    expect(ids(policy('backoff: decorrelated, initial: 1s, max: 10s, retries: 5, window: 5s'))).toEqual([
      'retries-beyond-window',
    ])
  })
})

describe('a breaker beside a window', () => {
  const book = (open: string, more: string) =>
    `dependencies: { crm: { timeout: 3s, breaker: { open: ${open} } } }\nservices: { mail: { dependencies: [crm], ${more} } }`

  it.for([
    ['15s', 'policy: aggressive', []],
    ['15001ms', 'policy: aggressive', ['open-outlasts-window']],
    ['5m', 'policy: standard', []],
    ['6m', '', ['open-outlasts-window']],
    ['1h', 'policy: none', []],
    ['1h', 'policy: { backoff: fixed, delay: 1s, retries: 3 }', []],
  ] as const)('open for %s, %s', ([open, more, expected]) => {
    expect(ids(book(open, more))).toEqual(expected)
  })

  it('is looked at for the handler’s own one too', () => {
    expect(
      paths('services: { mail: { events: { a.b: { policy: aggressive, breaker: { open: 1m } } } } }'),
    ).toEqual(['services.mail.events."a.b".policy open-outlasts-window'])
  })
})

describe('the memory of dedup', () => {
  const letters = (more: string) => `services: { mail: { ${more} } }`

  it.for([
    ['deadLetter: { retention: 30d }', []],
    ['deadLetter: { retention: 31d }', ['dedup-shorter-than-replay']],
    ['deadLetter: { reprocessing: automatic }', ['dedup-shorter-than-replay']],
    ['deadLetter: { reprocessing: filtered }, idempotency: { ttl: 31d }', []],
    ['idempotency: { ttl: 6d }', ['dedup-shorter-than-replay']],
    ['idempotency: { ttl: 6d }, deadLetter: { retention: 5d }', []],
    ['idempotency: { ttl: 6d, pattern: upsert }', []],
    ['idempotency: { ttl: 6d, pattern: state }', []],
    ['idempotency: { ttl: 6d, pattern: transaction }', ['dedup-shorter-than-replay']],
  ] as const)('%s', ([more, expected]) => {
    expect(ids(letters(more))).toEqual(expected)
  })

  it('that follows a short topic is told at the topic', () => {
    const text = `topics: { ticks: { types: [tick.made], retention: 1d } }
services: { chart: { events: { tick.made: {} } } }`
    expect(paths(text)).toEqual(['topics.ticks.retention dedup-shorter-than-replay'])
  })

  it('in the memory of several processes is wrong, unless the app has another store for it', () => {
    const text = 'services: { mail: { idempotency: { store: memory } } }'
    expect(ids(text, { instances: 1 })).toEqual([])
    expect(ids(text, { instances: 2 })).toEqual(['memory-ledger'])
    expect(ids(text, { instances: 2, store: 'sqlite' })).toEqual([])
    expect(paths('services: { a: {}, b: {} }', { instances: 2, store: 'memory' })).toEqual([
      'services memory-ledger',
    ])
  })
})

describe('overrides', () => {
  const list = (...matches: readonly string[]) =>
    `defaults:\n  overrides:\n${matches.map((each) => `    - { match: { ${each} }, category: transient, reason: x }`).join('\n')}`

  it.for([
    ['status: 503', 'status: 503, message: busy', true],
    ['status: 503, message: busy', 'status: 503', false],
    ['message: a*c', 'message: xaxxcx', true],
    ['message: a*c', 'message: a*b*c', true],
    ['message: abc', 'message: ab*c', false],
    ['message: c*a', 'message: a*c', false],
    ['code: E1', 'code: E2', false],
    ['code: E1, message: "*"', 'code: E1', true],
  ] as const)('%s before %s', ([first, second, covered]) => {
    expect(ids(list(first, second)).includes('override-shadowed')).toBe(covered)
  })

  it('of a row come before those of its service on purpose', () => {
    const one = 'overrides: [{ match: { code: E1 }, category: transient, reason: x }]'
    expect(ids(`services: { mail: { ${one}, events: { a.b: { ${one} } } } }`)).toEqual([])
  })

  it.for([
    ['status: 400', true],
    ['status: 403', true],
    ['status: 404', false],
    ['status: 409', false],
    ['status: 429', false],
    ['status: 503', false],
    ['name: SyntaxError', true],
    ['code: ECONNRESET', false],
    ['message: try later', false],
  ] as const)('%s as transient', ([match, wrong]) => {
    expect(ids(list(match)).includes('retries-permanent')).toBe(wrong)
    expect(ids(list(match).replaceAll('transient', 'permanent'))).toEqual([])
  })
})

describe('queues', () => {
  it('of two services may not bear one name', () => {
    const of = (one: string, other: string) =>
      paths(
        `services:\n  shop: { events: { ${one}: {} } }\n  shop.order: { events: { ${other}: {} } }`,
      ).filter((found) => found.endsWith('queue-shared'))
    expect(of('order.placed', 'placed')).toEqual(['services."shop.order".events.placed queue-shared'])
    expect(of('order.sent', 'placed')).toEqual([])
    expect(of('order.placed', 'order.placed')).toEqual([])
  })
})

describe('destinations', () => {
  it('that are where receipts arrive, or the queue itself, come back', () => {
    const naming = (template: string) =>
      `naming: { deadLetter: '${template}' }\nservices: { mail: { events: { a.b: {} } } }`
    expect(ids(naming('reprieve.receipts'))).toContain('dead-letter-loop')
    expect(ids(naming('{queue}'))).toEqual(['dead-letter-loop'])
    expect(ids(naming('{service}.{topic}'))).toEqual(['dead-letter-loop'])
    expect(ids(naming('{queue}-dlq'))).toEqual([])
  })

  it('are shared by poison too', () => {
    expect(paths("naming: { quarantine: '{deadLetter}' }\nservices: { mail: {} }")).toEqual([
      'naming.quarantine dead-letter-shared',
    ])
    const text = `services:
  a-svc: { deadLetter: { quarantine: all.poison } }
  b-svc: { deadLetter: { quarantine: all.poison } }`
    expect(paths(text)).toEqual(['services.b-svc.deadLetter.quarantine dead-letter-shared'])
  })

  it('of one service may be one for all its events, or one for each channel', () => {
    const text = `services:
  mail: { events: { a.b: {}, c.d: { channel: sms }, e.f: { deadLetter: { destination: mail.odd } } } }`
    expect(ids(text)).toEqual([])
  })
})

describe('what is unused', () => {
  it('is not what others extend, a dependency names, or Dapr is told', () => {
    expect(
      ids(`policies: { base: { retries: 3 }, own: { extends: base } }
breakers: { one: { open: 10s }, two: { extends: one, failures: 3 }, three: { open: 5s } }
timeouts: { brief: 2s, dapr: 3s }
dependencies: { crm: { timeout: brief, breaker: two }, erp: { extends: crm } }
dapr: { apps: { shop: { timeout: dapr, breaker: three } } }
services: { mail: { policy: own, dependencies: [erp] } }`),
    ).toEqual([])
  })

  it('is not what changes something built in', () => {
    expect(
      ids(`policies: { patient: { extends: patient, retries: 9 } }
breakers: { stateBreaker: { open: 20s } }
timeouts: { fast: 4s }
dependencies: { smtp: { timeout: 20s } }
services: { mail: {} }`),
    ).toEqual([])
  })

  it('batchers that take a priority, or that the defaults choose, are used', () => {
    expect(
      paths(`defaults: { batch: all, batchers: { all: { size: 10, timeout: 500ms }, odd: { size: 2 } } }
services:
  mail: { batchers: { fast: { timeout: 100ms, priorities: [critical] }, all: { size: 5 } } }`),
    ).toEqual(['defaults.batchers.odd unused-batcher'])
  })
})

describe('events', () => {
  it.for([
    ['error', true],
    ['system.error', true],
    ['event', true],
    ['System-Error', true],
    ['ml.run.failed', false],
    ['billing.invoice.error', false],
    ['task.created', false],
    ['system.*', false],
  ] as const)('%s', ([name, generic]) => {
    expect(ids(`services: { s: { events: { '${name}': {} } } }`)).toEqual(
      generic ? ['generic-event-name'] : [],
    )
    expect(ids(`topics: { t: ['${name}'] }`)).toEqual(generic ? ['generic-event-name'] : [])
  })

  const five = (more: string) =>
    `${more}\nservices:\n  s: { events: { a.1: {}, a.2: {}, a.3: {}, a.4: {}, a.5: {} } }`

  it('with one policy are meant so where their criticality is written and the same', () => {
    expect(ids(five('defaults: { policy: patient }'))).toEqual(['one-policy'])
    expect(ids(five('defaults: { policy: patient, criticality: high }'))).toEqual([])
    expect(ids(five(''))).toEqual([])
    const differ = five('').replace('a.5: {}', 'a.5: { criticality: high }')
    expect(paths(differ)).toEqual(['services.s.events."a.5".criticality one-policy'])
    expect(ids(five('defaults: { policy: { retries: 4 } }'))).toEqual(['one-policy'])
  })

  it('may all be critical where there are only two', () => {
    expect(
      ids('services: { s: { criticality: critical, policy: critical, events: { a.1: {}, a.2: {} } } }'),
    ).toEqual([])
    const three =
      'services: { s: { criticality: critical, policy: critical, events: { a.1: {}, a.2: {}, a.3: {} } } }'
    expect(paths(three)).toEqual(['services.s.criticality all-critical'])
  })
})

describe('a row with a star', () => {
  const rows = (topics: string, events: string) =>
    ids(`topics: { t: [${topics}] }\nservices: { s: { events: { ${events} } } }`)

  it('is not shadowed while it may speak for one more', () => {
    expect(rows('o.a, o.b', "o.a: { ttl: 1h }, 'o.*': { ttl: 2h }")).toEqual([])
    expect(rows("o.a, 'o.x.*'", "o.a: { ttl: 1h }, 'o.*': { ttl: 2h }")).toEqual([])
    expect(rows('o.a', "o.a: { ttl: 1h }, 'o.*': { ttl: 2h, timeout: 5s }")).toEqual([])
    expect(rows('o.a', "o.a: { idempotency: { key: id } }, 'o.*': { idempotency: { ttl: 31d } }")).toEqual([])
    expect(rows('p.a', "'o.*': { ttl: 2h }")).toEqual([])
    const override = 'overrides: [{ match: { code: E1 }, category: transient, reason: x }]'
    expect(rows('o.a', `o.a: { ${override} }, 'o.*': { ${override} }`)).toEqual([])
  })

  it('is shadowed by several nearer rows together', () => {
    expect(
      rows('o.a.b', "o.a.b: { ttl: 1h }, 'o.a.*': { timeout: 9s }, 'o.*': { ttl: 2h, timeout: 5s }"),
    ).toEqual(['row-shadowed'])
  })
})

describe('what must not be kept', () => {
  const book = (rule: string, services = 'services: { pay: { events: { user.paid: {} } } }') =>
    `redact: { cards: { ${rule} } }\n${services}`

  it('is told where a rule takes out nothing', () => {
    expect(paths(book(''))).toEqual(['redact.cards redact-nothing'])
    expect(paths(book('paths: [], headers: []'))).toEqual(['redact.cards redact-nothing'])
    expect(paths(book('service: py, headers: [authorization]'))).toEqual([
      'redact.cards.service redact-nothing',
    ])
    expect(paths(book('event: usr.paid, paths: [$.a]'))).toEqual(['redact.cards.event redact-nothing'])
    const topics = 'topics: { users: [usr.paid] }\nservices: { pay: {} }'
    expect(paths(book('event: usr.*, paths: [$.a]', topics))).toEqual([])
    expect(paths(book('event: any.thing, paths: [$.a]', 'services: { pay: {} }'))).toEqual([])
  })

  it('is told where a path or a header can match nothing, or one of many', () => {
    expect(paths(book('paths: [$.a, $.b, $.a]'))).toEqual(['redact.cards.paths.2 redact-cant-match'])
    expect(paths(book("paths: ['$.l[*].n', '$.l[*]']"))).toEqual(['redact.cards.paths.0 redact-cant-match'])
    expect(paths(book("paths: ['$.l[2].n', '$.l[*].n']"))).toEqual([
      'redact.cards.paths.0 redact-cant-match',
      'redact.cards.paths.0 redact-one-of-many',
    ])
    expect(paths(book('headers: [CE-Subject, "cloudEvents:type", cent]'))).toEqual([
      'redact.cards.headers.0 redact-cant-match',
      'redact.cards.headers.1 redact-cant-match',
    ])
    expect(paths(book('paths: [$.a.b, $.a.c, "$[\\"a\\"][\\"d\\"]"]'))).toEqual([])
  })

  it('is told where it is what a replay needs', () => {
    expect(paths(book('paths: [$]'))).toEqual(['redact.cards.paths.0 redact-needed'])
    expect(paths(book('headers: ["*", X-Idempotency-Key, x-id, "x-tenant*"]'))).toEqual([
      'redact.cards.headers.0 redact-needed',
      'redact.cards.headers.1 redact-needed',
    ])
  })
})
