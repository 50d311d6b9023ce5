import type { Ledger } from '../contracts/ledger.ts'
import type { AppStore } from '../contracts/store.ts'
import type { Tools } from '../contracts/tools.ts'
import type { Destination, Transport } from '../contracts/transport.ts'
import type { Tx } from '../contracts/tx.ts'
import { ReprieveError } from '../core/error.ts'
import type { Event } from '../core/event.ts'
import type { Millis } from '../core/time.ts'
import {
  batchFor,
  dependencyOf,
  dependencyTimeout,
  type RuleBook,
  rulesFor,
  serviceRules,
  topicOf,
} from '../rules/index.ts'
import { atMost } from './at-most.ts'
import type { Registered } from './attempt.ts'
import { type DataCheck, dataCheckOf } from './data-check.ts'
import { createDeadlines } from './deadline.ts'
import { createGuards } from './guards.ts'
import type { PublishOptions } from './handler.ts'
import { createLagging } from './lagging.ts'
import { createLedgers } from './ledgers.ts'
import { createOrders } from './orders.ts'
import { createPacing } from './pacing.ts'
import { planService } from './plan.ts'
import { checkEvents, makeEvent, publishAll } from './publish.ts'
import { noticeIdle, noticeUnbatched, registrar, type Service } from './registrar.ts'
import { type Relay, startRelay } from './relay.ts'
import { createSchedule, type Schedule } from './schedule.ts'
import { type RunningService, startService } from './service.ts'
import { createSharing } from './sharing.ts'
import { createSolo } from './solo.ts'
import { createTransact, isStoreTx } from './transact.ts'
import { checkTx } from './tx-rules.ts'

export interface App {
  readonly book: RuleBook
  readonly transport: Transport
  readonly store: AppStore
  service(name: string): Service
  /** Subscribes every service and begins to pull. */
  start(): Promise<void>
  /** Resolves with the event's id when it is durable. */
  publish(type: string, data?: unknown, options?: PublishOptions): Promise<string>
  /** Whole CloudEvents, many at once. */
  publishEvents(events: readonly Event[]): Promise<void>
  /**
   * Runs a function on a schedule, in one of the processes that share the store: who dies with it is followed by another.
   * Processes know a job by its name.
   */
  every: Schedule['every']
  /** What would refuse the data of such an event: the schema of the handler that takes it, where it is registered here. */
  dataCheck(service: string, type: string): DataCheck | undefined
  /** Where the started services bury. */
  destinations(): readonly Destination[]
  /** Stops pulling, lets handlers finish, hands back the rest. The connection stays open. */
  drain(within?: Millis): Promise<void>
}

export interface AppOptions {
  readonly book: RuleBook
  readonly transport: Transport
  readonly store: AppStore
  readonly tools: Tools
  /** Where the transport keeps claims itself: the ledger they are in, unless it is the store's. */
  readonly ownLedger?: Ledger | undefined
  /** The user's own transactions; the store's, where it has them, unless given. */
  readonly tx?: Tx | undefined
  /** The ledgers, by the names of their stores, that the rules of these services may choose beside the app's own. */
  readonly ledgersFor?: (services: readonly string[]) => Promise<ReadonlyMap<string, Ledger>>
}

const PATIENCE = 30_000
/** What the relay has published and not yet told its outbox would be published again. */
const PARTING = 1000

export const createApp = (options: AppOptions): App => {
  const { book, transport, store, ledgersFor, ownLedger, tx: theirs } = options
  const pacing = createPacing(options.tools)
  const tools = { ...options.tools, journal: pacing.journal }
  const services = new Map<string, Map<string, Registered>>()
  const running: RunningService[] = []
  const deadlines = createDeadlines(tools.clock)
  // asked for by the rules, as they are unless they say off
  const lagging = createLagging(tools, () =>
    running.filter(({ name }) =>
      rulesFor(book, name, '*').alerts.some(({ metric }) => metric.startsWith('lag')),
    ),
  )
  const sharing = createSharing(store.board, tools, {
    report: (board, process) => {
      lagging.report(board, process)
      return pacing.report(board, process)
    },
  })
  const guards = createGuards((name) => dependencyOf(book, name), tools, sharing)
  // a transport that keeps its own ledger waits as long as asked: it needs no companion
  const companion = transport.can.claims ? undefined : store.companion
  const destinations = new Map<string, Destination>()
  const orders = createOrders(
    store.board,
    guards,
    sharing,
    tools,
    (name) => {
      for (const service of running) if (service.name === name) service.heed()
    },
    ({ service: name, type }) => {
      for (const service of running) if (service.name === name) service.mended(type)
    },
  )
  const schedule = createSchedule(store.board, tools)
  const closing = new AbortController()
  const solo = createSolo(tools.clock, closing.signal)
  let hearing: Promise<void> | undefined
  let started = false
  let leaving = false
  let left = false
  let starting: Promise<void> | undefined

  const topic = (type: string) => topicOf(book, type)

  const tx = theirs ?? store.tx
  let relay: Relay | undefined
  const ring = () => relay?.ring()
  const transact = createTransact({ tx, topic, tools, ring })
  const make = (type: string, data: unknown, options: PublishOptions): Event =>
    makeEvent(type, data, options, tools)

  const publish = async (type: string, data: unknown, options: PublishOptions = {}): Promise<string> => {
    const event = make(type, data, options)
    if (options.tx !== undefined) {
      if (!tx) throw nowhereToKeep()
      await tx.publish(options.tx, [event])
      ring()
      return event.id
    }
    await publishAll(transport, topic, [event], tools)
    return event.id
  }

  /** Between any two steps of the start the app may be told to leave. */
  const stillWanted = (): void => {
    if (leaving) throw new ReprieveError('closed', 'the app was closed while it started')
  }

  const begin = async (): Promise<void> => {
    const named = (await ledgersFor?.([...services.keys()])) ?? new Map<string, Ledger>()
    const ledgers = createLedgers(ownLedger ?? store.ledger, named)
    const plans = [...services].map(([name, handlers]) => {
      const trouble = (error: Error) =>
        tools.journal({ at: tools.clock.now(), is: 'trouble', where: `the rules of ${name}`, error })
      const plan = planService(
        book,
        name,
        [...handlers.keys()],
        transport,
        trouble,
        new Set(named.keys()),
        companion,
      )
      checkTx(name, plan, handlers, tx !== undefined)
      return { name, handlers, plan }
    })
    sharing.runs([...services.keys()])
    for (const { name, handlers, plan } of plans) {
      noticeIdle(name, handlers, tools)
      noticeUnbatched(name, handlers, plan, tools)
    }
    if (theirs) await theirs.ready?.()
    stillWanted()
    hearing = orders.hear(closing.signal)
    for (const { name, handlers, plan } of plans) {
      for (const { destinations: each } of plan.subscriptions)
        for (const one of each) destinations.set(one.name, one)
      const { concurrency, window } = serviceRules(book, name)
      const timeoutOf = (dependency: string, operation?: string) =>
        dependencyTimeout(book, dependency, operation)
      stillWanted()
      running.push(
        await startService({
          name,
          plan,
          handlers,
          concurrency,
          window,
          batchFor: (event, priority) => batchFor(book, name, event, priority),
          deadlines,
          transport,
          companion,
          ledgers,
          solo,
          tools,
          publish,
          make,
          transact,
          txStore: tx && isStoreTx(tx) ? store : undefined,
          timeoutOf,
          guards,
          isPaused: () => orders.isPaused(name),
        }),
      )
    }
    stillWanted()
    // what lies in the outbox may be for services that subscribe only now
    if (tx?.outbox) relay = startRelay({ outbox: tx.outbox, transport, topic, tools })
    schedule.start()
  }

  return {
    book,
    transport,
    store,
    publish,
    every: schedule.every,
    dataCheck: (service, type) => dataCheckOf(services.get(service), type),
    destinations: () => [...destinations.values()],
    publishEvents: async (events) => {
      checkEvents(events)
      await publishAll(transport, topic, events, tools)
    },
    service: (name) => {
      if (typeof name !== 'string' || !/^[\w][\w.-]*$/.test(name)) {
        throw new ReprieveError('bad_handlers', `${JSON.stringify(String(name))} can't name a service`, {
          fix: 'use letters, digits, dots, dashes and underscores',
        })
      }
      if (started) throw new ReprieveError('bad_handlers', `service ${name} was registered after start()`)
      let handlers = services.get(name)
      if (!handlers) {
        handlers = new Map()
        services.set(name, handlers)
      }
      return registrar(name, handlers)
    },
    start: () => {
      if (started) return Promise.reject(new ReprieveError('bad_usage', 'the app was started already'))
      started = true
      // what began to run when nobody waited for it any more is ended here
      starting = begin().catch(async (error: Error) => {
        if (left) await Promise.all(running.splice(0).map((service) => service.drain(0)))
        throw error
      })
      return starting
    },
    drain: async (within = PATIENCE) => {
      const { clock } = tools
      const end = clock.now() + within
      const rest = (least = 0) => Math.max(end - clock.now(), least)
      leaving = true
      const jobs = schedule.stop(within)
      const looked = lagging.stop()
      const drainAll = () => Promise.all(running.splice(0).map((service) => service.drain(rest())))
      // the one that is being started can only be stopped when it has begun
      await Promise.all([drainAll(), atMost(clock, within, Promise.allSettled([starting]))])
      left = true
      await drainAll()
      await jobs
      await atMost(clock, rest(), looked)
      await atMost(clock, rest(PARTING), relay?.stop())
      closing.abort()
      await hearing
    },
  }
}

const nowhereToKeep = (): ReprieveError =>
  new ReprieveError(
    'bad_usage',
    'publish(…, { tx }) was called, and the app knows no database with an outbox',
    {
      fix: 'give it one: reprieve({ tx: postgresTx(pool) }), or run it on sqlite:app.db',
    },
  )
