import type { Fact } from '../src/contracts/journal.ts'
import type { Transport } from '../src/contracts/transport.ts'
import { type Reprieve, reprieve } from '../src/reprieve.ts'
import { emptyBook, type RuleBook, readRules } from '../src/rules/index.ts'
import type { Handler } from '../src/runtime/handler.ts'
import type { Contender, Heat } from './harness.ts'
import { BATCH, batches, counter, eventOf, FILL, freshName, type Order } from './load.ts'

/** Where one heat of ours takes place, what is counted there, and what is left to clear away after it. */
export interface Ground {
  readonly transport: string
  readonly store?: string
  /** Where nobody else can be in the way; else names that nobody else uses are made up. */
  readonly names?: { readonly service: string; readonly type: string }
  /** So far. */
  counts?(app: Reprieve): Readonly<Record<string, number>>
  close(names: Names): Promise<void>
}

export interface Names {
  readonly service: string
  readonly type: string
  readonly destinations: readonly string[]
}

export type Take = (order: Order) => Promise<void>

/** How a heat goes where not every event simply succeeds. */
export interface Course {
  /** The handler, and what an event comes to when it is through. */
  handler(take: Take): Handler<Order>
  readonly ends: 'done' | 'dead'
  readonly quiet: readonly Fact['is'][]
}

const PLAIN: Course = { handler: (take) => (event) => take(event.data), ends: 'done', quiet: [] }

export interface Ours extends Omit<Contender, 'prepare'> {
  readonly course?: Course
  /** Ids of the events; absent: those that Reprieve mints itself. */
  readonly id?: () => string
  /** What the rule book says of the service; absent: there is no book at all. */
  readonly rules?: Readonly<Record<string, unknown>>
  /** URLs of stores that the rules name. */
  readonly stores?: Readonly<Record<string, string>>
  ground(): Promise<Ground>
}

/** What a user may say in a rule book, and nothing more. JSON is YAML too. */
export const bookOf = (rules: Ours['rules'], service: string, stores: Ours['stores'] = {}): RuleBook =>
  rules
    ? readRules(JSON.stringify({ version: 1, stores, services: { [service]: rules } }), 'bench.yaml', {})
    : emptyBook

/** Counts what is done; anything but the plain course of events spoils the heat. */
export const watch = (alsoQuiet: readonly Fact['is'][] = [], ends: Course['ends'] = 'done') => {
  let done = 0
  let goal = Number.POSITIVE_INFINITY
  const reached = Promise.withResolvers<void>()
  const journal = (fact: Fact): void => {
    if (fact.is === ends) {
      if (++done === goal) reached.resolve()
    } else if (!QUIET.has(fact.is) && !alsoQuiet.includes(fact.is)) {
      reached.reject(new Error(`unforeseen: ${'error' in fact ? fact.error.message : JSON.stringify(fact)}`))
    }
  }
  const until = (count: number): Promise<void> => {
    goal = count
    if (done >= goal) reached.resolve()
    return reached.promise
  }
  reached.promise.catch(() => {})
  return { journal, until, done: () => done }
}

const QUIET = new Set<Fact['is']>(['started', 'drained', 'published', 'notice'])

/** A subscription must be there before anything can be published to it: started once, then drained. */
export const openSubscribed = async (ours: Ours) => {
  const ground = await ours.ground()
  const fresh = freshName()
  const { service, type } = ground.names ?? { service: fresh, type: `${fresh}.order` }
  const options = { transport: ground.transport, ...(ground.store && { store: ground.store }) }
  const rules = bookOf(ours.rules, service, ours.stores)
  const first = await reprieve({ ...options, rules })
  first.service(service).on(type, () => {})
  const before = ground.counts?.(first)
  await first.start()
  const starting = difference(before, ground.counts?.(first))
  await first.drain()
  const names = { service, type, destinations: first.destinations().map(({ name }) => name) }
  return { first, ground, options, rules, names, starting }
}

export const fill = async (app: Reprieve, type: string, events: number, id?: () => string): Promise<void> => {
  for (const orders of batches(events, FILL))
    await app.publishEvents(orders.map((order) => eventOf(type, order, id?.())))
}

/** Publishes batch by batch; `single` by as many calls of `publish` at once as a batch has events. */
export const oursPublishing = (ours: Ours, single = false): Contender => ({
  ...ours,
  prepare: async (events): Promise<Heat> => {
    const { first: app, ground, names } = await openSubscribed(ours)
    const { type } = names
    const load = [...batches(events)]
    const publish = async (orders: readonly Order[]): Promise<void> => {
      if (single) await Promise.all(orders.map((order) => app.publish(type, order)))
      else await app.publishEvents(orders.map((order) => eventOf(type, order)))
    }
    // what is opened by the first publish, of ours and of the raw loop, is not what is measured
    await publish(load[0]!)
    const counts = () => (ours.limits ? ground.counts?.(app) : undefined)
    return {
      run: async () => {
        const before = counts()
        let published = 0
        for (const orders of load) {
          await publish(orders)
          published += orders.length
        }
        return { events: published, counts: perBatch(difference(before, counts()), events) }
      },
      close: async () => {
        await app.close()
        await ground.close(names)
      },
    }
  },
})

/** From start(), with everything waiting already, until the last event is settled. */
export const oursConsuming = (ours: Ours): Contender => ({
  ...ours,
  prepare: async (events): Promise<Heat> => {
    const { first, ground, options, rules, names, starting } = await openSubscribed(ours)
    const { service, type } = names
    await fill(first, type, events, ours.id)
    await first.close()
    const { handler, ends, quiet } = ours.course ?? PLAIN
    const watched = watch(quiet, ends)
    const seen = counter(events)
    const app = await reprieve({ ...options, rules, journal: watched.journal })
    app.service(service).on(type, handler(seen.handle))
    let started: Promise<void> | undefined
    return {
      run: async (lead) => {
        seen.tell(lead)
        const before = ground.counts?.(app)
        started = app.start()
        await Promise.race([watched.until(events), started.then(() => new Promise<never>(() => {}))])
        const counted = difference(starting, difference(before, ground.counts?.(app)))
        return { events: seen.seen(), counts: perBatch(counted, events) }
      },
      close: async () => {
        await started
        await app.close()
        await ground.close(names)
      },
    }
  },
})

type Counts = Readonly<Record<string, number>>

const difference = (less: Counts | undefined, counts: Counts | undefined): Counts =>
  Object.fromEntries(Object.entries(counts ?? {}).map(([what, count]) => [what, count - (less?.[what] ?? 0)]))

const perBatch = (counts: Counts, events: number): Counts =>
  Object.fromEntries(
    Object.entries(counts).map(([what, count]) => [
      `${what} per ${BATCH} events`,
      Math.round((count / Math.ceil(events / BATCH)) * 1000) / 1000,
    ]),
  )

/** What an adapter counts beside the contract. */
export const countsOf = (transport: Transport): Readonly<Partial<Record<string, number>>> =>
  (transport as Transport & { counts?: Record<string, number> }).counts ?? {}
