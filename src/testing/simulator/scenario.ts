import { type Event, payloadHash } from '../../core/event.ts'
import type { Millis } from '../../core/time.ts'
import { type RuleBook, readRules, rulesFor } from '../../rules/index.ts'
import type { Chance } from './chance.ts'
import { type Expectation, isTwin, TWIN } from './fate.ts'
import { type Weather, weatherOf } from './weather.ts'

/** own: transport and ledger are one database. leased, connected: a broker, with a store beside it. */
export type Kind = 'own' | 'leased' | 'connected'

/** What a handler does with an event; a number after it says how often. */
export type Does =
  | 'ok'
  | 'at once' // answers without waiting for anything
  | 'flaky' // fails once or twice, then goes well
  | 'permanent'
  | 'unknown' // fails for no known reason, always
  | 'hangs' // until its time is over, the first time
  | 'deaf' // goes on when its time is over, the first time
  | 'slow' // needs most of its time
  | 'put off' // answers later(…) once
  | 'refused' // answers dead(…)
  | 'broken' // its data can't be read
  | 'kills' // the process, each time
  | 'stuns' // the process stands still for longer than its leases, so often that it would be quarantined for deaths
  | 'calls' // the dependency, which has an outage

export interface Planned {
  readonly at: Millis
  readonly event: Event
  readonly does: Does
  /** Published once more, by a producer that is not sure. */
  readonly again?: Millis
}

/** Everything that chance decides before the start. */
export interface Scenario {
  readonly kind: Kind
  readonly yaml: string
  readonly book: RuleBook
  readonly services: ReadonlyMap<string, readonly string[]>
  readonly processes: number
  readonly planned: readonly Planned[]
  readonly outage: { readonly from: Millis; readonly to: Millis }
  readonly ordered: boolean
  /** An operator replays what died. */
  readonly replays: boolean
  /** The dependency has a breaker beside its budget. */
  readonly guarded: boolean
  readonly weather: Weather
  /** The longest wait that the broker keeps by itself. */
  readonly later: Millis
  readonly expectations: readonly Expectation[]
}

export const LEASE = 3000
export const TIMEOUT = 400
export const CONCURRENCY = 3
/** Of the dependency `mail`. */
export const BREAKER = { failures: 3, open: 2000, probes: 1 }
/** So often an event may kill its process. */
export const KILLS = 3
export const BUDGET = { ratio: 0.2, perSecond: 1, burst: 2 }

const SERVICES = new Map([
  ['alpha', ['plain.made', 'mail.sent', 'bomb.armed']],
  ['beta', ['plain.made']],
  ['gamma', ['line.moved']],
])

const bookOf = (pattern: string, policy: string, ordered: boolean, guarded: boolean): string => `
version: 1
policies:
  fixed: { backoff: fixed, delay: 60ms, jitter: none, retries: 3 }
  rising: { backoff: exponential, initial: 100ms, multiplier: 3, max: 2s, jitter: full, retries: 4 }
  long: { backoff: fixed, delay: 7s, jitter: none, retries: 1 }
breakers:
  touchy: { failures: ${BREAKER.failures}, open: ${BREAKER.open}ms, probes: ${BREAKER.probes}, successes: 1 }
dependencies:
  mail:
    timeout: 200ms
    breaker: ${guarded ? 'touchy' : 'none'}
    budget: { ratio: ${BUDGET.ratio * 100}%, perSecond: ${BUDGET.perSecond}, burst: ${BUDGET.burst} }
defaults: { policy: ${policy}, timeout: ${TIMEOUT}ms, lease: ${LEASE}ms, concurrency: ${CONCURRENCY}, breaker: none }
services:
  alpha: { idempotency: { pattern: dedup }, events: { mail.sent: { dependencies: [mail] } } }
  beta: { idempotency: { pattern: ${pattern} }, window: 4, concurrency: 1, lease: 600ms }
  gamma: { idempotency: { pattern: dedup }, order: ${ordered ? 'key' : 'none'} }
`

/** Books are few, and reading one takes longer than many a simulation. */
const books = new Map<string, RuleBook>()
const read = (yaml: string): RuleBook => {
  const book = books.get(yaml) ?? readRules(yaml, 'simulated.yaml')
  books.set(yaml, book)
  return book
}

export const scenarioOf = (chance: Chance): Scenario => {
  const kind = chance.pick<Kind>(['own', 'leased', 'connected'])
  const ordered = chance.happens(0.7)
  const policy = chance.pick(['fixed', 'rising', 'fixed', 'long'])
  const guarded = chance.happens(0.7)
  const yaml = bookOf(chance.pick(['dedup', 'upsert', 'state', 'none']), policy, ordered, guarded)
  const book = read(yaml)
  const first = Array.from({ length: chance.int(6, 18) }, (_, n) => plan(n, chance, ordered))
  const from = chance.int(0, 3000)
  const scenario = {
    kind,
    yaml,
    book,
    services: SERVICES,
    processes: chance.int(1, 3),
    outage: { from, to: from + chance.int(1000, 5000) },
    guarded,
    ordered,
    replays: chance.happens(0.25),
    weather: weatherOf(chance, kind === 'connected'),
    later: chance.pick([100, 1000, Number.POSITIVE_INFINITY]),
  }
  const planned = [...first, ...twinsOf(first, chance)]
  const expectations = planned.flatMap(({ event, does }) => expectationsOf(book, event, does))
  return { ...scenario, planned, expectations }
}

export const heardBy = (type: string): readonly string[] =>
  [...SERVICES].flatMap(([service, types]) => (types.includes(type) ? [service] : []))

const expectationsOf = (book: RuleBook, event: Event, does: Does): readonly Expectation[] =>
  heardBy(event.type).map((service) => {
    const { policy, timeout, idempotency, order } = rulesFor(book, service, event.type, event.type)
    const { orderkey } = event.extensions
    return {
      service,
      id: event.id,
      twin: isTwin(event),
      hash: payloadHash(event.data),
      type: event.type,
      does,
      limit: policy.retries + 1,
      timeout,
      dedup: idempotency.pattern === 'dedup',
      ...(order === 'key' && orderkey !== undefined && { orderKey: orderkey }),
    }
  })

const plan = (n: number, chance: Chance, ordered: boolean): Planned => {
  const common = chance.pick(['plain.made', 'plain.made', 'mail.sent', 'line.moved'])
  const type = chance.happens(0.01) ? 'bomb.armed' : common
  const bomb = n % 2 === 0 ? 'kills' : 'stuns'
  const does = type === 'mail.sent' ? 'calls' : type === 'bomb.armed' ? bomb : whatOf(chance)
  const priority = chance.pick([undefined, undefined, 'high' as const])
  const orderkey = type === 'line.moved' && ordered ? chance.pick(['red', 'blue']) : undefined
  const event: Event = {
    id: `e${n}`,
    source: 'simulator',
    type,
    extensions: { ...(orderkey && { orderkey }), ...(priority && { priority }) },
    headers: {},
    datacontenttype: 'application/json',
    data: Buffer.from(does === 'broken' ? '{' : JSON.stringify({ n, does })),
  }
  const at = chance.int(0, 4000)
  return { at, event, does, ...(chance.happens(0.1) && { again: at + chance.int(0, 6000) }) }
}

/** Somebody gave another event the id that one has already. */
const twinsOf = (planned: readonly Planned[], chance: Chance): readonly Planned[] => {
  const like = chance.happens(0.4) ? planned[chance.int(0, planned.length - 1)]! : undefined
  if (!like || like.event.type === 'bomb.armed') return []
  const does = like.does === 'calls' ? 'calls' : whatOf(chance)
  const data = Buffer.from(does === 'broken' ? '{{' : JSON.stringify({ does, twin: true }))
  const event = { ...like.event, headers: TWIN, data }
  const at = chance.int(0, 6000)
  return [{ at, event, does, ...(chance.happens(0.3) && { again: at + chance.int(0, 3000) }) }]
}

const whatOf = (chance: Chance): Does =>
  chance.pick<Does>([
    'ok',
    'ok',
    'ok',
    'at once',
    'flaky',
    'flaky',
    'permanent',
    'unknown',
    'hangs',
    'deaf',
    'slow',
    'put off',
    'refused',
    'broken',
  ])
