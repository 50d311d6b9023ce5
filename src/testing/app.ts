import { open } from '../adapters/memory/index.ts'
import type { Tx } from '../contracts/tx.ts'
import type { Instant, Millis } from '../core/time.ts'
import {
  type Auditing,
  askedAuditing,
  askedHand,
  askedOffice,
  createAuditing,
  createHand,
  createOffice,
  createWatch,
  enactTogether,
  type Hand,
  type Office,
  type RecoveryOptions,
  type RetentionOptions,
  scheduleRecovery,
  scheduleRetention,
  scheduleWatch,
  type Watch,
} from '../office/index.ts'
import { emptyBook, type PolicyFor, type RuleBook, readRules, withPolicyFor } from '../rules/index.ts'
import { type App, createApp } from '../runtime/app.ts'
import type { VirtualClock } from './clock.ts'
import { createLooking, type Looking, TIMERS } from './expectations.ts'
import { createFaults, type Faults, faultyLedger, faultyTransport } from './faults.ts'
import { watchPending } from './pending.ts'
import { story } from './story.ts'
import { testTools } from './tools.ts'
import { watchTx } from './tx.ts'
import { withoutClaims } from './without-claims.ts'

export interface TestAppOptions {
  /** As `loadRules` reads it; without one sound defaults apply. */
  readonly rules?: RuleBook
  /** The text of a rule book, where a test has rules of its own. */
  readonly yaml?: string
  readonly policyFor?: PolicyFor
  /** As of `reprieve`. */
  readonly recovery?: boolean | RecoveryOptions
  /** As of `reprieve`, and else only where the rules say so. */
  readonly retention?: boolean | RetentionOptions
  /** Whether it is looked once a minute, as in `reprieve`, for what alerts are about. Default: no, look by `watch.look()`. */
  readonly watch?: boolean
  /** The same seed, the same dice. */
  readonly seed?: number
  /** When virtual time begins. */
  readonly start?: Instant
  /**
   * own: transport and ledger are one, as on SQLite. apart: the ledger is asked for itself, as beside a broker, and
   * so can fail for itself. Default: own.
   */
  readonly ledger?: 'own' | 'apart'
  /** Where `ctx.tx` begins its transactions: `memoryTx(client)`, or the one that your app has. */
  readonly tx?: Tx
}

/** A whole app, office included, on memory and in virtual time. */
export interface TestApp extends Omit<App, 'drain'>, Looking, AsyncDisposable {
  readonly clock: VirtualClock
  readonly faults: Faults
  readonly office: Office
  readonly hand: Hand
  readonly audit: Auditing
  readonly watch: Watch
  /** Done by itself before the first event is published. */
  start(): Promise<void>
  /** Turns the clock until nothing waits and nothing is in flight; rejects after `most` of virtual time, a day unless told. */
  settled(options?: { readonly most?: Millis }): Promise<void>
  drain(within?: Millis): Promise<void>
  close(): Promise<void>
}

const A_DAY = 24 * 60 * 60_000

export const testApp = async (options: TestAppOptions = {}): Promise<TestApp> => {
  const tools = testTools(options)
  const { clock, facts } = tools
  const began = clock.now()
  const written =
    options.rules ?? (options.yaml === undefined ? emptyBook : readRules(options.yaml, 'test.yaml'))
  const book = options.policyFor ? withPolicyFor(written, options.policyFor) : written
  const faults = createFaults()

  const opened = await open('memory:', tools)
  const own = opened.store!
  const pending = watchPending(opened.transport!)
  const whole = faultyTransport(pending.transport, faults)
  const apart = options.ledger === 'apart'
  const transport = apart ? withoutClaims(whole) : whole
  // the transport is the companion's equal: a second way to it would be past the faults and the counting
  const { companion: _, ...alone } = own
  const store = {
    ...alone,
    letters: own.letters!,
    audit: own.audit!,
    operations: own.operations!,
    ledger: faultyLedger(own.ledger, faults),
  }
  const watched = options.tx && watchTx(options.tx)
  const app = createApp({ book, transport, store, tools, tx: watched?.tx })
  const office = askedOffice(
    await createOffice({
      transport: pending.transport,
      store,
      tools,
      book: written,
      dataCheck: app.dataCheck,
    }),
  )
  const hand = askedHand(createHand(store.board, clock.now, { enact: enactTogether(store.audit) }))
  scheduleRecovery(app.every, office, written, options.recovery, 'test')
  if (options.retention ?? book.retention)
    scheduleRetention(app.every, office, written, options.retention, 'test')
  const { letters, board } = store
  const watch = createWatch({ letters, board, processes: board, tools, book: written })
  if (options.watch) scheduleWatch(app.every, watch, clock.now)

  let starting: Promise<void> | undefined
  const start = (): Promise<void> => {
    starting ??= (async () => {
      await clock.runUntil(app.start())
      await office.open(app.destinations())
    })()
    return starting
  }

  const settled = async ({ most = A_DAY }: { readonly most?: Millis } = {}): Promise<void> => {
    await start()
    await clock.runUntil(pending.idle(), { most }).catch((error: Error) => {
      const left = [...new Set(pending.events())].join(', ')
      const message = `${error.message}; still on their way: ${left}\n\nWhat happened:\n${story(facts, began)}`
      throw new Error(`${message}\n\n${error.message.includes('nobody sleeps') ? TIMERS : ''}`.trimEnd())
    })
    // whoever settled last also tells the journal
    await clock.advance(0)
    // what a transaction published is on its way as well
    if (!watched?.waiting()) return
    if (most <= 1000)
      throw new Error(`${watched.waiting()} events wait in the outbox of '${watched.tx.name}'`)
    await clock.advance(1000)
    return settled({ most: most - 1000 })
  }

  let closing: Promise<void> | undefined
  const close = (): Promise<void> => {
    closing ??= clock.runUntil(
      (async () => {
        await app.drain()
        await office.close()
        await transport.close()
        await store.close()
      })(),
    )
    return closing
  }

  return {
    ...app,
    ...createLooking(facts, pending.letters, began),
    clock,
    faults,
    office,
    hand,
    audit: askedAuditing(createAuditing(store.audit, clock)),
    watch,
    start,
    settled,
    publish: async (...event) => {
      await start()
      return app.publish(...event)
    },
    publishEvents: async (events) => {
      await start()
      return app.publishEvents(events)
    },
    drain: (within) => clock.runUntil(app.drain(within)),
    close,
    [Symbol.asyncDispose]: close,
  }
}
