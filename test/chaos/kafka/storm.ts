import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../../src/adapters/system/clock.ts'
import { reprieve } from '../../../src/index.ts'
import { type Count, count } from '../broker/count.ts'
import { type Called, openDownstream } from '../broker/downstream.ts'
import { ATTEMPTS, dependentsOf, dependentType, typeOf } from '../broker/fate.ts'
import { watchTokens } from '../broker/tokens.ts'
import { endAll } from '../ended.ts'
import { census } from './census.ts'
import { whoseAre } from './whose.ts'
import type { Orders } from './worker.ts'

export interface StormOptions {
  readonly brokers: readonly string[]
  readonly events: number
  readonly workers: number
  /** Handlers take up to so many milliseconds. */
  readonly slow?: number
  /** Retries and burials are transactions. */
  readonly transactions?: boolean
  readonly query?: string
  readonly fault: Fault
  readonly patience: number
  readonly say?: (line: string) => void
}

export interface Fault {
  /** With fewer blows a storm shows nothing. */
  readonly least: number
  /** It kills workers. */
  readonly deadly?: true
  /** Goes on beside the work until the signal aborts, or until it is done with them. Resolves with how many blows fell. */
  strike(on: Stage, over: AbortSignal): Promise<number>
}

/** What a fault may do to the workers. */
export interface Stage {
  readonly topic: string
  /** Until this share of the events is accounted for. */
  reached(share: number, over: AbortSignal): Promise<void>
  join(): Promise<ChildProcess>
  /** By SIGKILL. */
  killOne(): Promise<void>
  leave(worker: ChildProcess): Promise<void>
}

export interface StormResult extends Omit<Count, 'accounted'>, Called {
  readonly published: number
  /** How often the publisher was refused, and published the same again. */
  readonly refused: number
  /** Letters beyond the first of an event, as the destination's own records tell. */
  readonly buriedTwice: number
  /** I1: records past what the consumer group has committed, retry topics included, when all had ended. */
  readonly uncommitted: number
  /** I4: claims whose token fell. */
  readonly fell: readonly string[]
  readonly blows: number
  /** How many of them it takes. */
  readonly least: number
  readonly killed: number
  readonly seconds: number
}

/**
 * Several workers on real brokers, and something that goes wrong meanwhile. Counted from outside: effects from
 * the workers' own files, letters and offsets by a plain client of Kafka.
 */
export const storm = async (options: StormOptions): Promise<StormResult> => {
  const folder = mkdtempSync(join(tmpdir(), 'reprieve-storm-'))
  const file = join(folder, 'store.db')
  const store = `sqlite:${file}`
  const transport = `kafka://${options.brokers.join(',')}?session=6000&heartbeat=300${options.query ?? ''}`
  const service = `storm-svc-${process.pid}-${Date.now()}`
  const type = `storm.event.${process.pid}.${Date.now()}`
  const rules = join(folder, 'rules.yaml')
  const began = Date.now()
  const over = new AbortController()
  const workers = new Set<ChildProcess>()
  const started: ChildProcess[] = []
  const ids = Array.from({ length: options.events }, (_, n) => `e-${n}`)
  let killed = 0
  let published = 0
  let refused = 0
  let letters: readonly string[] = []

  const downstream = await openDownstream()
  const tokens = watchTokens(file)
  writeFileSync(rules, rulesOf(service, type, options))
  const joinOne = async (): Promise<ChildProcess> => {
    const record = join(folder, `record-${started.length}.log`)
    const slow = options.slow ?? 60
    const orders: Orders = {
      transport,
      store,
      rules,
      service,
      type,
      record,
      slow,
      downstream: downstream.url,
    }
    const child = fork(join(import.meta.dirname, 'worker.ts'), [JSON.stringify(orders)], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    started.push(child)
    await Promise.race([
      once(child, 'message'),
      once(child, 'exit').then(() => Promise.reject(new Error('a worker could not start'))),
    ])
    workers.add(child)
    return child
  }
  const end = async (child: ChildProcess, signal: NodeJS.Signals) => {
    workers.delete(child)
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill(signal)
    await gone
  }
  const counted = () => count(folder, ids, letters)
  const stage: Stage = {
    topic: type,
    reached: async (share, signal) => {
      while (!signal.aborted && counted().done < share * options.events) await systemClock.sleep(200, signal)
    },
    join: joinOne,
    killOne: async () => {
      const [victim] = workers
      if (!victim) return
      await end(victim, 'SIGKILL')
      killed++
    },
    leave: (child) => end(child, 'SIGTERM'),
  }

  /** In parts, all through the work: what the broker does not confirm is published again, under the same id. */
  const publishAll = async () => {
    const publisher = await reprieve({ transport, store, rules, office: false })
    while (published < ids.length && !over.signal.aborted) {
      const some = ids.slice(published, published + Math.ceil(ids.length / PARTS))
      const events = some.map((id, at) => eventOf(id, typeOf(type, published + at), published + at))
      try {
        await publisher.publishEvents(events)
        published += some.length
      } catch {
        refused++
        await systemClock.sleep(200)
      }
      // not much ahead of the workers, so that each blow hits a publisher at work too
      const held = downstream.isDown ? dependentsOf(published) : 0
      await stage.reached((published - held) / ids.length - AHEAD / PARTS, over.signal)
    }
    await publisher.close()
  }

  try {
    await Promise.all(Array.from({ length: options.workers }, joinOne))
    const striking = options.fault.strike(stage, over.signal)
    striking.catch((error: unknown) => options.say?.(`the fault failed: ${error}`))
    const publishing = publishAll()
    const restoring = stage.reached(RESTORED, over.signal).then(downstream.restore)
    const patience = systemClock.sleep(options.patience, over.signal).then(() => over.abort())
    await publishing
    while (!over.signal.aborted) {
      const found = await census(options.brokers, service, type).catch(() => undefined)
      letters = found?.dead ?? letters
      const { missing } = counted()
      options.say?.(`${missing.length} of ${ids.length} to go, ${found?.uncommitted} records to commit`)
      // one whose publish was never confirmed may lie in the log all the same, and be in retry when all others are done
      if (missing.length === 0 && found?.uncommitted === 0) break
      await systemClock.sleep(1_000, over.signal)
    }
    const late = over.signal.aborted
    over.abort()
    const [blows] = await Promise.all([striking, patience, restoring])
    if (late) {
      options.say?.('out of patience')
      for (const worker of workers) worker.kill('SIGUSR2')
      console.error(await whoseAre(options.brokers, service, type).catch(String))
    }
    await Promise.all([...workers].map((each) => end(each, 'SIGTERM')))
    const { dead, uncommitted } = await census(options.brokers, service, type)
    letters = dead
    await tokens.close()
    const { accounted: _, ...rest } = counted()
    return {
      ...rest,
      ...downstream.tally(started.length),
      fell: [...tokens.fell],
      published,
      refused,
      buriedTwice: dead.length - new Set(dead).size,
      uncommitted,
      killed,
      blows,
      least: options.fault.least,
      seconds: Math.round((Date.now() - began) / 1000),
    }
  } finally {
    over.abort()
    await endAll(started)
    await downstream.close()
    await tokens.close().catch(() => {}) // what went wrong before is told
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Events that are published at once, and how far ahead of the work: both as parts of all. */
const PARTS = 40
/** When so much of all is done, the dependency of some is there again: so the others went on without it. */
const RESTORED = 0.5
const AHEAD = 4

const eventOf = (id: string, type: string, n: number) => ({
  id,
  source: 'storm',
  type,
  extensions: {},
  headers: {},
  datacontenttype: 'application/json',
  data: Buffer.from(JSON.stringify({ n })),
})

/** Only where workers are killed must what they had come again soon. Where all live, leases outlast a busy machine. */
const LEASES = { killed: '5s', living: '20s' }

const rulesOf = (
  service: string,
  type: string,
  { transactions = false, fault }: StormOptions,
): string => `version: 1
topics: { ${type}: [${type}, ${dependentType(type)}] }
policies:
  hurried:
    { backoff: exponential, initial: 100ms, multiplier: 2, max: 1s, jitter: half, retries: ${ATTEMPTS - 1}, window: 15m }
  enduring: { backoff: fixed, delay: 200ms, jitter: half, retries: 1000, window: 30m }
dependencies:
  crm: { timeout: 5s, breaker: { failures: 5, open: 1s, probes: 1, successes: 1 } }
defaults:
  concurrency: 20
  window: 60
  lease: ${fault.deadly ? LEASES.killed : LEASES.living}
  policy: hurried
  timeout: 10s
  transactions: ${transactions}
services:
  ${service}: { events: { ${dependentType(type)}: { policy: enduring, dependencies: [crm], concurrency: 2 } } }
`
