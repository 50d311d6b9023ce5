import { type Event, payloadHash } from '../../core/event.ts'
import type { Instant, Millis } from '../../core/time.ts'
import { type RuleBook, rulesFor } from '../../rules/index.ts'
import { type BatchChoices, choicesOf, readBook, yamlOf } from './book.ts'
import type { Chance } from './chance.ts'
import { type Expectation, isTwin } from './fate.ts'
import { type Cast, type Planned, planEvents, tellingOf } from './plan.ts'
import { type Weather, weatherOf } from './weather.ts'

/** own: transport and ledger are one database. leased, connected: a broker, with a store beside it. */
export type Kind = 'own' | 'leased' | 'connected'

/** Everything that chance decides before the start. */
export interface Scenario {
  readonly kind: Kind
  readonly yaml: string
  readonly book: RuleBook
  /** Which types each of them handles, of those that are published. */
  readonly services: ReadonlyMap<string, readonly string[]>
  readonly processes: number
  readonly planned: readonly Planned[]
  readonly outage: { readonly from: Millis; readonly to: Millis }
  readonly ordered: boolean
  /** An operator replays what died. */
  readonly replays: boolean
  /** What is expired too. */
  readonly although: readonly 'expired'[]
  /** He also gives up letters that hold keys while things still go wrong. */
  readonly discards: boolean
  /** The dependency has a breaker beside its budget. */
  readonly guarded: boolean
  readonly weather: Weather
  readonly batch: BatchChoices
  /** Where transactions are, if there are any: in the app's store, or in a database of the user's. */
  readonly tx: 'store' | 'theirs' | undefined
  /** The longest wait that the broker keeps by itself. */
  readonly later: Millis
  readonly expectations: readonly Expectation[]
}

const SERVICES = new Map([
  ['alpha', ['plain.made', 'mail.sent', 'bomb.armed', 'sum.told']],
  ['beta', ['plain.made']],
  ['gamma', ['line.moved']],
  ['delta', ['crowd.came']],
  ['epsilon', ['sum.booked']],
])

/** Takes its events together. */
export const isTogether = (service: string): boolean => service === 'delta'
/** Has its effects in transactions. */
export const isTransacting = (service: string): boolean => service === 'epsilon'

export const scenarioOf = (chance: Chance): Scenario => {
  const kind = chance.pick<Kind>(['own', 'leased', 'connected'])
  const cast: Cast = { batches: chance.happens(0.35), transactions: chance.happens(0.35) }
  const choices = choicesOf(chance, cast.batches)
  const yaml = yamlOf(choices)
  const book = readBook(yaml)
  const planned = planEvents(chance, choices, cast)
  const told = planned.filter(({ event }) => event.type === 'sum.booked').map(tellingPlan)
  const from = chance.int(0, 3000)
  return {
    kind,
    yaml,
    book,
    services: servicesFor(new Set([...planned, ...told].map(({ event }) => event.type))),
    batch: choices.batch,
    tx: told.length > 0 ? chance.pick(['store', 'theirs']) : undefined,
    processes: chance.int(1, 3),
    outage: { from, to: from + chance.int(1000, 5000) },
    guarded: choices.guarded,
    ordered: choices.ordered || choices.batch.ordered,
    // what is held needs somebody who frees it
    replays: chance.happens(0.25) || choices.held,
    although: chance.happens(0.5) ? ['expired'] : [],
    discards: chance.happens(0.5),
    weather: weatherOf(chance, kind === 'connected'),
    later: chance.pick([100, 1000, Number.POSITIVE_INFINITY]),
    planned,
    expectations: [
      ...planned.flatMap((each) => expectationsOf(book, each, false)),
      ...told.flatMap((each) => expectationsOf(book, each, true)),
    ],
  }
}

/** Published by a handler, if its transaction is committed. */
const tellingPlan = ({ event }: Planned): Planned => {
  const { data, ...telling } = tellingOf(event)
  return {
    at: 0,
    does: data.does,
    event: {
      ...{ ...telling, source: 'epsilon', extensions: {}, headers: {}, datacontenttype: 'application/json' },
      data: Buffer.from(JSON.stringify(data)),
    },
  }
}

/** Who has nothing to do is not started: it would take time and tell nothing. */
const servicesFor = (types: ReadonlySet<string>): ReadonlyMap<string, readonly string[]> =>
  new Map(
    [...SERVICES].flatMap(([service, all]) => {
      const wanted = all.filter((type) => types.has(type))
      return wanted.length > 0 ? [[service, wanted] as const] : []
    }),
  )

export const heardBy = (type: string): readonly string[] =>
  [...SERVICES].flatMap(([service, types]) => (types.includes(type) ? [service] : []))

const expectationsOf = (
  book: RuleBook,
  { event, does }: Planned,
  outgoing: boolean,
): readonly Expectation[] =>
  heardBy(event.type).map((service) => {
    const rules = rulesFor(book, service, event.type, event.type)
    const { policy, timeout, idempotency, order, afterDeath, ttl } = rules
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
      transaction: idempotency.pattern === 'transaction',
      outgoing,
      expires: endOf(event, ttl),
      holds: order === 'key' && afterDeath === 'hold',
      ...(order === 'key' && orderkey !== undefined && { orderKey: orderkey }),
    }
  })

/** When it is no longer worth handling, as the rule book's page says; Infinity: never. */
const endOf = ({ time, extensions }: Event, ttl: Millis = Number.POSITIVE_INFINITY): Instant =>
  Math.min(
    extensions.expirytime === undefined ? Number.POSITIVE_INFINITY : Date.parse(extensions.expirytime),
    time === undefined ? Number.POSITIVE_INFINITY : Date.parse(time) + ttl,
  )
