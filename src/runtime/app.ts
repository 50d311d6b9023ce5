import type { Ledger } from '../contracts/ledger.ts'
import type { AppStore } from '../contracts/store.ts'
import type { Tools } from '../contracts/tools.ts'
import type { Destination, Transport } from '../contracts/transport.ts'
import type { Tx } from '../contracts/tx.ts'
import { ReprieveError } from '../core/error.ts'
import type { Event } from '../core/event.ts'
import { patternFault } from '../core/pattern.ts'
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
import type { Registered, Single, Together } from './attempt.ts'
import type { BatchHandler } from './batch-handler.ts'
import { type DataCheck, dataCheckOf } from './data-check.ts'
import { createDeadlines } from './deadline.ts'
import { createGuards } from './guards.ts'
import type { Handler, PublishOptions, Schema } from './handler.ts'
import { createLagging } from './lagging.ts'
import { createLedgers } from './ledgers.ts'
import { createOrders } from './orders.ts'
import { createPacing } from './pacing.ts'
import { type Plan, planService } from './plan.ts'
import { makeEvent, publishAll } from './publish.ts'
import { type Relay, startRelay } from './relay.ts'
import { createSchedule, type Schedule } from './schedule.ts'
import { type RunningService, startService } from './service.ts'
import { createSharing } from './sharing.ts'
import { createSolo } from './solo.ts'
import { createTransact, isStoreTx } from './transact.ts'
import { checkTx } from './tx-rules.ts'

/** A service's handlers, one per event type or pattern. */
export interface Service {
  on<Data>(pattern: string, schema: Schema<Data>, handler: Handler<Data>): Service
  // biome-ignore lint/suspicious/noExplicitAny: without a schema the data may be anything
  on(pattern: string, handler: Handler<any>): Service
  /** The same for several events together, in batches as the rules say. */
  onBatch<Data>(pattern: string, schema: Schema<Data>, handler: BatchHandler<Data>): Service
  // biome-ignore lint/suspicious/noExplicitAny: without a schema the data may be anything
  onBatch(pattern: string, handler: BatchHandler<any>): Service
}

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

export const createApp = (options: AppOptions): App => {
  const { book, transport, store, ledgersFor, ownLedger, tx: theirs } = options
  const pacing = createPacing(options.tools)
  const tools = { ...options.tools, journal: pacing.journal }
  const services = new Map<string, Map<string, Registered>>()
  const running: RunningService[] = []
  const deadlines = createDeadlines(tools.clock)
  // asked for by the rules, as they are unless they say off
  const lagging = createLagging(tools, () =>
    running.filter(({ name }) => rulesFor(book, name, '*').alerts.some(({ metric }) => metric === 'lag')),
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
  const orders = createOrders(store.board, guards, sharing, tools, (name) => {
    for (const service of running) if (service.name === name) service.heed()
  })
  const schedule = createSchedule(store.board, tools)
  const closing = new AbortController()
  const solo = createSolo(tools.clock, closing.signal)
  let hearing: Promise<void> | undefined
  let started = false

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

  return {
    book,
    transport,
    store,
    publish,
    every: schedule.every,
    dataCheck: (service, type) => dataCheckOf(services.get(service), type),
    destinations: () => [...destinations.values()],
    publishEvents: (events) => publishAll(transport, topic, events, tools),
    service: (name) => {
      if (started) throw new ReprieveError('bad_handlers', `service ${name} was registered after start()`)
      if (!/^[\w][\w.-]*$/.test(name)) {
        throw new ReprieveError('bad_handlers', `'${name}' can't name a service`, {
          fix: 'use letters, digits, dots, dashes and underscores',
        })
      }
      let handlers = services.get(name)
      if (!handlers) {
        handlers = new Map()
        services.set(name, handlers)
      }
      return registrar(name, handlers)
    },
    start: async () => {
      if (started) throw new ReprieveError('bad_usage', 'the app was started already')
      started = true
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
      for (const { name, handlers, plan } of plans) noticeUnbatched(name, handlers, plan, tools)
      if (theirs) await theirs.ready?.()
      hearing = orders.hear(closing.signal)
      for (const { name, handlers, plan } of plans) {
        for (const { destinations: each } of plan.subscriptions)
          for (const one of each) destinations.set(one.name, one)
        const { concurrency, window } = serviceRules(book, name)
        const timeoutOf = (dependency: string, operation?: string) =>
          dependencyTimeout(book, dependency, operation)
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
      // what lies in the outbox may be for services that subscribe only now
      if (tx?.outbox) relay = startRelay({ outbox: tx.outbox, transport, topic, tools })
      schedule.start()
    },
    drain: async (within = PATIENCE) => {
      const jobs = schedule.stop(within)
      await lagging.idle()
      await Promise.all(running.splice(0).map((service) => service.drain(within)))
      await jobs
      await relay?.stop()
      closing.abort()
      await hearing
    },
  }
}

/** The rules ask for batches and the handler takes one event: most likely somebody expects otherwise. */
const noticeUnbatched = (
  name: string,
  handlers: ReadonlyMap<string, Registered>,
  { subscriptions, rulesOf }: Plan,
  { clock, journal }: Tools,
): void => {
  const single = subscriptions.flatMap(({ topic, types }) =>
    types.filter((type) => !handlers.get(type)?.together && rulesOf(topic, type).batch),
  )
  if (single.length === 0) return
  const text = `${name} takes ${[...new Set(single)].join(', ')} one by one, though the rules batch them: use onBatch, or batch: off`
  journal({ at: clock.now(), is: 'notice', text })
}

const nowhereToKeep = (): ReprieveError =>
  new ReprieveError(
    'bad_usage',
    'publish(…, { tx }) was called, and the app knows no database with an outbox',
    {
      fix: 'give it one: reprieve({ tx: postgresTx(pool) }), or run it on sqlite:app.db',
    },
  )

const registrar = (name: string, handlers: Map<string, Registered>): Service => {
  const add = (verb: 'on' | 'onBatch', pattern: string, rest: readonly unknown[]): Service => {
    const fault = patternFault(pattern)
    if (fault) {
      throw new ReprieveError('bad_handlers', `${name}.${verb}('${pattern}', …): the pattern ${fault}`, {
        fix: "name an event, like 'todo.task.created', or a beginning with a star at its end, like 'todo.task.*'",
      })
    }
    const handle = rest.at(-1)
    const schema = rest.length > 1 ? (rest[0] as Schema<unknown>) : undefined
    if (typeof handle !== 'function') {
      throw new ReprieveError('bad_handlers', `${name}.${verb}('${pattern}', …) was given no function`)
    }
    if (schema && typeof schema['~standard']?.validate !== 'function') {
      throw new ReprieveError(
        'bad_handlers',
        `${name}.${verb}('${pattern}', …): the schema is no Standard Schema`,
        {
          fix: 'pass a schema of zod 4, valibot, arktype or another library that has `~standard`',
        },
      )
    }
    if (handlers.has(pattern)) {
      throw new ReprieveError('bad_handlers', `${name} has two handlers for '${pattern}'`, {
        fix: 'one handler per event type or pattern: join them, or give one to another service',
      })
    }
    handlers.set(
      pattern,
      verb === 'on'
        ? { pattern, schema, handle: handle as Single['handle'] }
        : { pattern, schema, together: handle as Together['together'] },
    )
    return service
  }
  const service: Service = {
    on: (pattern: string, ...rest: readonly unknown[]) => add('on', pattern, rest),
    onBatch: (pattern: string, ...rest: readonly unknown[]) => add('onBatch', pattern, rest),
  }
  return service
}
