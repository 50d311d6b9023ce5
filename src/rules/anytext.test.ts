import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { explain } from './explain.ts'
import { readRules } from './load.ts'
import { BadRules } from './problem.ts'
import { rulesFor } from './resolve.ts'
import { explainText } from './tell.ts'

/** Everything that can be said in a rule book, once. Placeholders are written with §. */
const BOOK = `version: 1
naming:
  deadLetter: "_{service}.deadletter[.{channel}]"
  quarantine: "{deadLetter}.quarantine"
  consumerGroup: "{service}"
  receipts: reprieve.receipts
topics:
  todo: { types: [todo.task.*, todo.reminder.*], retention: 7d }
  ml: [ml.*]
policies:
  budget: { attempts: 5, initial: 1s, max: 300s, jitter: 20% }
  steps: { backoff: linear, step: 5s, max: 300s, attempts: 5 }
  steady: { backoff: fixed, delay: 3s, jitter: none, retries: 3 }
  at-once: { backoff: none, attempts: 2 }
  crowd: { backoff: decorrelated, initial: 100ms, multiplier: 3, max: 10s }
  escalating:
    backoff: tiers
    retries: 9
    window: 2h
    tiers:
      - { upTo: 3, backoff: fixed, delay: 1s }
      - { upTo: 9, backoff: exponential, initial: 1m, multiplier: 1.5, max: 1h, firstExponent: 1, jitter: full }
  patient: { extends: patient, retries: 9 }
breakers:
  gentle: { extends: externalBreaker, failures: 10, open: 300s, probes: 3, successes: 3, interval: 1m }
  wary: { rate: 50%, window: 100, volume: 5, spread: 10%, probeLease: 5s, ramp: 30s }
timeouts: { quick: 2s }
dependencies:
  mailer: { extends: smtp, timeout: quick, breaker: gentle, timeouts: { send: 20s } }
  crm: { breaker: { failures: 4 }, budget: { ratio: 20%, perSecond: 10, burst: 100 } }
  lax: { extends: crm, budget: none }
stores: { redis: "§{REDIS:-redis://localhost}", index: }
defaults:
  concurrency: 8
  policy: standard
  dataLoss: unacceptable
  alerts: { depth: { from: 100 }, errorShare: { above: 50%, atLeast: 10 }, lag: off }
services:
  notification-svc:
    consumerGroup: notification-svc.task-alerts
    window: 40
    lease: 1m
    breaker: kafkaBreaker
    idempotency: { pattern: dedup, store: redis, ttl: 7d, key: id }
    events:
      todo.task.created: { policy: standard, timeout: 15s }
      todo.reminder.fired: { policy: critical, timeout: slow, idempotency: { pattern: upsert, store: postgres } }
      notification.dispatch.email:
        policy: patient
        channel: email
        breaker: externalBreaker
        dependencies: [mailer]
        deadLetter: { retention: 30d, expire: 24h, reprocessing: filtered }
        overrides:
          - { match: { code: EENVELOPE }, category: permanent, reason: nobody lives there }
          - { match: { status: 404, message: "try later" }, category: transient, reason: it is made on demand }
        alerts: { retryRate: { above: 25%, severity: critical, action: Call the mail people } }
      notification.*: { policy: { extends: budget, window: 10m } }
  search-indexer:
    breaker: { failures: 3, open: 30s }
    idempotency: { pattern: upsert, store: index }
    events: { todo.task.deleted: { policy: aggressive, idempotency: { pattern: state }, timeout: fast } }
  pipeline:
    order: key
    afterDeath: hold
    poison: { failures: 3, within: 60s, categories: [unknown, transient], crashes: 2 }
    batch: { size: 25, timeout: 2s, concurrency: 5, by: source }
    demand: { poll: 1s, atOnce: 50, min: 5, max: 20 }
    batchers:
      domain: { size: 25, timeout: 2s, concurrency: 5, by: source }
      urgent: { size: 10, timeout: 500ms, priorities: [high, critical] }
    events:
      ml.trial.*: { batch: domain, policy: crowd }
      ml.done: { batch: off, deadLetter: { quarantine: "{queue}.aside.{kind}" } }
      ml.run.*: { policy: budget, ttl: 1d, priority: high, criticality: critical }
      ui.command.*: { policy: at-once, poison: off, dataLoss: acceptable }
dapr:
  namespace: todo
  scopes: [notification-svc]
  components:
    pubsub-kafka:
      inbound: { policy: standard, timeout: slow }
      outbound: { policy: standard, timeout: default, breaker: kafkaBreaker }
  apps: { todo-api: { policy: aggressive, timeout: default, breaker: sidecarBreaker } }
`

const VALUES = [
  '1',
  'x',
  'none',
  'off',
  'fixed',
  'tiers',
  '§{X}',
  '§{NONE}',
  '20%',
  'a.*',
  '',
  0,
  -1,
  2.5,
  true,
  null,
  [],
]

describe('any text', () => {
  const loadsOrIsRefused = (text: string): boolean => {
    try {
      const book = readRules(text.replaceAll('§', '$'), 'book.yaml', { X: 'x' })
      for (const [service, { events }] of [...book.services, ['other', {}] as const]) {
        for (const event of ['a.b', ...Object.keys(events ?? {})]) {
          const rules = rulesFor(book, service, event)
          expect(explainText(rules)).not.toMatch(/undefined|NaN/)
          expect(JSON.parse(JSON.stringify(explain(rules)))).toMatchObject({ service, event })
        }
      }
      return true
    } catch (error) {
      if (!(error instanceof BadRules)) throw error
      expect(error).toMatchObject({ code: 'bad_rules' })
      expect(error.problems.length).toBeGreaterThan(0)
      for (const { line, column } of error.problems) expect(Math.min(line, column)).toBeGreaterThan(0)
      return false
    }
  }

  it('either loads or is refused', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => void loadsOrIsRefused(text)),
      { numRuns: 100 },
    )
    const yamlish = fc.constantFrom(...':-?[]{}&*!|>\'"%@#,\n\n  \tab1~<'.split(''))
    fc.assert(
      fc.property(fc.string({ unit: yamlish, maxLength: 80 }), (text) => void loadsOrIsRefused(text)),
      { numRuns: 300 },
    )
  })

  it('also when it was a rule book before a few slips', () => {
    const whole = parse(BOOK) as Tree
    const paths = pathsOf(whole)
    const pool: readonly Tree[] = [...VALUES, ...paths.map((path) => get(whole, path))]
    const slip = fc.record({
      path: fc.constantFrom(...paths),
      how: fc.constantFrom('put', 'put', 'drop', 'rename'),
      value: fc.constantFrom(...pool),
      name: fc.constantFrom('extends', 'timeout', 'standard', 'a.*', '__proto__', 'toString', '<<', ''),
    })
    let loaded = 0
    fc.assert(
      fc.property(fc.array(slip, { maxLength: 3 }), (slips) => {
        const tree = structuredClone(whole)
        for (const each of slips) make(tree, each)
        if (loadsOrIsRefused(JSON.stringify(tree))) loaded++
      }),
      { numRuns: 150 },
    )
    expect(loaded).toBeGreaterThan(10)
  })
})

type Tree = null | string | number | boolean | Tree[] | { [name: string]: Tree }

const isBranch = (tree: Tree | undefined): tree is Record<string, Tree> =>
  tree !== null && typeof tree === 'object'

const pathsOf = (tree: Tree, path: readonly string[] = []): readonly (readonly string[])[] => [
  ...(path.length > 0 ? [path] : []),
  ...(isBranch(tree) ? Object.keys(tree).flatMap((name) => pathsOf(tree[name]!, [...path, name])) : []),
]

const get = (tree: Tree, path: readonly string[]): Tree =>
  path.reduce<Tree>((at, name) => (isBranch(at) ? (at[name] ?? null) : null), tree)

interface Slip {
  readonly path: readonly string[]
  readonly how: 'put' | 'drop' | 'rename'
  readonly value: Tree
  readonly name: string
}

const make = (tree: Tree, { path, how, value, name }: Slip): void => {
  const parent = get(tree, path.slice(0, -1))
  const last = path.at(-1)!
  if (!isBranch(parent)) return
  if (how === 'put') parent[last] = value
  else {
    const before = parent[last] ?? null
    delete parent[last]
    if (how === 'rename')
      Object.defineProperty(parent, name, { value: before, enumerable: true, configurable: true })
  }
}
