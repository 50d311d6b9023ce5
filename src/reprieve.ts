import { systemClock } from './adapters/system/clock.ts'
import { systemDice } from './adapters/system/dice.ts'
import { systemProcess, systemUser } from './adapters/system/user.ts'
import { startWatchdog } from './adapters/system/watchdog.ts'
import { loadBook } from './book.ts'
import type { Journal } from './contracts/journal.ts'
import type { AppStore, Store } from './contracts/store.ts'
import type { Clock, Dice, Tools } from './contracts/tools.ts'
import type { Destination, Transport } from './contracts/transport.ts'
import type { Tx } from './contracts/tx.ts'
import { checkName } from './core/acts.ts'
import type { Millis } from './core/time.ts'
import {
  type Auditing,
  askedAuditing,
  askedHand,
  askedOffice,
  createAuditing,
  createHand,
  createOffice,
  createWatch,
  enactApart,
  enactTogether,
  foreignDestinations,
  type Hand,
  knownDestinations,
  type Office,
  type RecoveryOptions,
  type RetentionOptions,
  rememberDestinations,
  scheduleGrouping,
  scheduleRecovery,
  scheduleRetention,
  scheduleWatch,
  type Watch,
} from './office/index.ts'
import { openAppStore, openStore, openTransport, withoutSecret } from './open.ts'
import { checkOptions } from './options-check.ts'
import { type PolicyFor, type RuleBook, withPolicyFor } from './rules/index.ts'
import { type App, createApp } from './runtime/app.ts'
import { atMost } from './runtime/at-most.ts'
import { createListening, type Listen } from './runtime/listening.ts'
import { serveOffice } from './serve.ts'
import { namedStores } from './stores.ts'

export interface Options {
  /** The rule book's file, or the book itself; without one sound defaults apply. */
  readonly rules?: string | RuleBook
  /**
   * A policy by name, or one written as in a rule book, for what a service does with a type; it comes before what the
   * book says, and undefined leaves it to the book. Asked once for each type.
   */
  readonly policyFor?: PolicyFor
  /** Default: `sqlite:reprieve.db`. */
  readonly transport?: string
  /** Default: the transport's own store, or `sqlite:reprieve.db` beside a broker. */
  readonly store?: string
  /**
   * Where processes share breakers, budgets, jobs and orders, such as `redis://host` beside a broker. Default: the store.
   */
  readonly board?: string
  /**
   * Where `ctx.tx` begins its transactions: `postgresTx(pool)`, or your own. Default: the store's file, where that is
   * SQLite.
   */
  readonly tx?: Tx
  /** Whether this process also takes over dead letters. Default: yes. */
  readonly office?: boolean
  /** Whether letters of transient failures go back by themselves. Default: as the rules say, and else no. */
  readonly recovery?: boolean | RecoveryOptions
  /** Whether letters that the rules keep no longer are removed by themselves. Default: as the rules say, and else yes. */
  readonly retention?: boolean | RetentionOptions
  /** Who acts by this app, for the audit. Default: the system's user. */
  readonly as?: string
  readonly journal?: Journal
  /**
   * A thread that reports an event loop blocked for so many milliseconds: to stderr, with the place, and to the journal
   * once it is free again. Default: none, and the library starts neither threads nor processes.
   */
  readonly watchdog?: Millis
  readonly clock?: Clock
  readonly dice?: Dice
}

export interface Reprieve extends App, AsyncDisposable {
  /** To hear of facts of this process as they happen: `app.listen(['dead'], (fact) => …)`, until the answer is called. */
  readonly listen: Listen
  readonly office: Office
  readonly hand: Hand
  readonly audit: Auditing
  /** Snapshots of the dead letters, and alerts. Looked at once a minute where this process has an office. */
  readonly watch: Watch
  /** Where dead letters of this app may lie: of its own services, and of others seen on the same store. */
  knownDestinations(): Promise<readonly Destination[]>
  /**
   * The office on its own: takes over what arrives wherever services of this store or this rule book bury, also those that
   * start later, and runs its jobs. Several on one store share the work. Until close.
   */
  serve(): Promise<void>
  /** Drains, then closes the connections. */
  close(within?: Millis): Promise<void>
}

/** So long a close waits for a start to leave off, beyond the services' own time. */
const LAST_STEP: Millis = 5000

export const DEFAULT_URL = 'sqlite:reprieve.db'

/** Opens transport and store, reads the rule book, and answers with an app to register handlers on. */
export const reprieve = async (options: Options = {}): Promise<Reprieve> => {
  checkOptions(options)
  const clock = options.clock ?? systemClock
  const { journal, listen } = createListening({ clock, journal: options.journal ?? (() => {}) }, warnOnce())
  const tools: Tools = { clock, dice: options.dice ?? systemDice(), journal }
  const as = options.as === undefined ? systemUser() : checkName(options.as)
  const { rules, policyFor } = options
  const written = typeof rules === 'object' ? rules : await loadBook(rules)
  const book = policyFor ? withPolicyFor(written, policyFor) : written
  const url = options.transport ?? DEFAULT_URL
  const opened = await openTransport(url, tools)
  const { transport } = opened
  const store = await storeFor(options.store, url, opened.store, tools).catch(async (error) => {
    await transport.close()
    await opened.store?.close()
    throw error
  })
  const named = namedStores(book, transport.can.claims ? url : (options.store ?? DEFAULT_URL), tools)
  const ownLedger = transport.can.claims ? opened.store?.ledger : undefined
  const board =
    options.board === undefined ? undefined : await openBoard(options.board, transport, store, tools)
  const app = createApp({
    book,
    transport,
    store: board ? { ...store, board: board.board } : store,
    tools,
    ownLedger,
    tx: options.tx,
    ledgersFor: named.ledgersFor,
  })
  const office = askedOffice(
    await createOffice({
      transport,
      store,
      tools,
      book: written, // what a function in code answers is about retries: no concern of the office
      as,
      board: app.store.board,
      dataCheck: app.dataCheck,
    }),
  )
  const { now } = tools.clock
  const enact = board ? enactApart(store.audit, board.board, now) : enactTogether(store.audit)
  const hand = askedHand(createHand(app.store.board, now, { as, enact }))
  const watchdog = options.watchdog === undefined ? undefined : startWatchdog(options.watchdog, tools)
  const withOffice = options.office ?? true
  const { letters } = store
  const watch = createWatch({ letters, board: store.board, processes: app.store.board, tools, book: written })
  if (withOffice) {
    scheduleRecovery(app.every, office, written, options.recovery, systemProcess())
    scheduleRetention(app.every, office, written, options.retention, systemProcess())
    scheduleWatch(app.every, watch, now)
    scheduleGrouping(app.every, office, tools)
  }
  let closing: Promise<void> | undefined

  const serving = new AbortController()
  let looking: Promise<void> | undefined

  let starting: Promise<void> | undefined
  const start = async (): Promise<void> => {
    await app.start()
    const destinations = app.destinations()
    await rememberDestinations(store.board, destinations)
    if (withOffice && !closing) await office.open([...destinations, ...foreignDestinations(book)])
  }

  const serve = async (): Promise<void> => {
    const known = () => knownDestinations(store.board, book)
    // what is wrong at the beginning is told to whoever asked for it
    await office.open(await known())
    await app.start()
    looking = serveOffice(office, known, tools, serving.signal)
  }

  const close = async (within?: Millis): Promise<void> => {
    serving.abort()
    await looking
    await app.drain(within)
    // what it opens after this would stay open
    await atMost(tools.clock, LAST_STEP, Promise.allSettled([starting]))
    await watchdog?.stop()
    await office.close()
    await transport.close()
    // where another store was named, that of the transport's file is still the ledger of its deliveries
    if (opened.store?.ledger !== store.ledger) await opened.store?.close()
    await store.companion?.close()
    await store.close()
    await named.close()
    await board?.companion?.close()
    await board?.close()
  }

  const closeOnce = (within?: Millis): Promise<void> => {
    closing ??= close(within)
    return closing
  }

  return {
    ...app,
    listen,
    office,
    hand,
    audit: askedAuditing(createAuditing(store.audit, tools.clock)),
    watch,
    knownDestinations: () => knownDestinations(store.board, book),
    start: () => {
      starting = start()
      return starting
    },
    serve: () => {
      starting = serve()
      return starting
    },
    close: closeOnce,
    [Symbol.asyncDispose]: () => closeOnce(),
  }
}

const openBoard = async (
  url: string,
  transport: Transport,
  store: AppStore,
  tools: Tools,
): Promise<Store> => {
  try {
    return await openStore(url, tools)
  } catch (error) {
    await transport.close()
    await store.companion?.close()
    await store.close()
    throw error
  }
}

const storeFor = async (
  url: string | undefined,
  transport: string,
  own: Store | undefined,
  tools: Tools,
): Promise<AppStore> => {
  const { letters, audit, operations } = own ?? {}
  if (own && letters && audit && operations && (url === undefined || url === transport)) {
    await own.ready?.()
    return { ...own, letters, audit, operations }
  }
  const wanted = url ?? DEFAULT_URL
  if (url === undefined) {
    const text = `the store beside ${withoutSecret(transport)} is ${wanted}: good for one host`
    tools.journal({ at: tools.clock.now(), is: 'notice', text })
  }
  return openAppStore(wanted, tools)
}

/** Of a journal that throws at one fact and likely at all: the first is enough to mend it. */
const warnOnce = (): ((error: unknown) => void) => {
  let warned = false
  return (error) => {
    if (warned) return
    warned = true
    process.emitWarning(
      `the journal given to reprieve() failed, and is told all the same: ${String(error)}`,
      'ReprieveWarning',
    )
  }
}
