import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../../src/adapters/system/clock.ts'
import { reprieve } from '../../../src/index.ts'
import { endAll } from '../ended.ts'
import { census } from './census.ts'
import type { Orders } from './worker.ts'

export interface StormOptions {
  readonly brokers: readonly string[]
  readonly events: number
  readonly workers: number
  /** Handlers take up to so many milliseconds. */
  readonly slow?: number
  /** Into the rule book, as lines of its `defaults`. */
  readonly rules?: readonly string[]
  readonly query?: string
  /** Goes on beside the work until the signal aborts, or until it is done with them. */
  readonly fault: (on: Stage, over: AbortSignal) => Promise<void>
  readonly patience: number
  readonly say?: (line: string) => void
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

export interface StormResult {
  readonly published: number
  readonly done: number
  readonly dead: number
  /** Events that were published and are neither done nor dead. */
  readonly missing: readonly string[]
  /** Effects beyond the first of an event. */
  readonly doubled: number
  /** Letters beyond the first of an event, as the destination's own records tell. */
  readonly buriedTwice: number
  /** Events both done and dead. */
  readonly both: number
  /** Of those the ones whose every settlement was answered: for them there is no excuse. */
  readonly inexcusable: readonly string[]
  /** Records past what the consumer group has committed, retry topics included, when all had ended. */
  readonly uncommitted: number
  readonly killed: number
  readonly seconds: number
}

/**
 * Several workers on real brokers, and something that goes wrong meanwhile. Counted from outside: effects from
 * the workers' own files, letters and offsets by a plain client of Kafka.
 */
export const storm = async (options: StormOptions): Promise<StormResult> => {
  const folder = mkdtempSync(join(tmpdir(), 'reprieve-storm-'))
  const store = `sqlite:${join(folder, 'store.db')}`
  const transport = `kafka://${options.brokers.join(',')}?session=6000&heartbeat=300${options.query ?? ''}`
  const service = `storm-svc-${process.pid}-${Date.now()}`
  const type = `storm.event.${process.pid}.${Date.now()}`
  const rules = join(folder, 'rules.yaml')
  const began = Date.now()
  const over = new AbortController()
  const workers = new Set<ChildProcess>()
  const started: ChildProcess[] = []
  const ids: string[] = []
  let killed = 0

  writeFileSync(rules, rulesWith(options.rules ?? []))
  const joinOne = async (): Promise<ChildProcess> => {
    const effects = join(folder, `effects-${started.length}.log`)
    const unanswered = join(folder, `unanswered-${started.length}.log`)
    const slow = options.slow ?? 60
    const orders: Orders = { transport, store, rules, service, type, effects, unanswered, slow }
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
  const written = (files: string): string[] =>
    readdirSync(folder)
      .filter((name) => name.startsWith(files))
      .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n').filter(Boolean))
  const effects = () => written('effects-')
  const seen = () => new Set(effects()).size
  const stage: Stage = {
    topic: type,
    reached: async (share, signal) => {
      while (!signal.aborted && seen() < share * options.events) await systemClock.sleep(100, signal)
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

  /** In parts, all through the work: what the broker does not confirm is published again. */
  const publishAll = async () => {
    const publisher = await reprieve({ transport, store, rules, office: false })
    const parts = 40
    for (let part = 1; part <= parts && !over.signal.aborted; part++) {
      while (ids.length < Math.round((options.events * part) / parts) && !over.signal.aborted) {
        const some = Array.from({ length: Math.min(250, options.events - ids.length) }, (_, n) => n)
        const answers = await Promise.allSettled(some.map((n) => publisher.publish(type, { n })))
        for (const each of answers) if (each.status === 'fulfilled') ids.push(each.value)
        if (answers.some(({ status }) => status === 'rejected')) await systemClock.sleep(200)
      }
      await stage.reached((part - 4) / parts, over.signal)
    }
    await publisher.close()
  }

  try {
    await Promise.all(Array.from({ length: options.workers }, joinOne))
    const fault = options.fault(stage, over.signal)
    fault.catch((error: unknown) => options.say?.(`the fault failed: ${error}`))
    const publishing = publishAll()
    const patience = systemClock.sleep(options.patience, over.signal).then(() => over.abort())
    let accounted: Awaited<ReturnType<typeof census>> | undefined
    const lacking = () => {
      const known = new Set([...effects(), ...(accounted?.dead ?? [])])
      return ids.filter((id) => !known.has(id))
    }
    await publishing
    while (!over.signal.aborted) {
      const found = await census(options.brokers, service, type).catch(() => undefined)
      accounted = found ?? accounted
      options.say?.(`${lacking().length} of ${ids.length} to go, ${found?.uncommitted} records to commit`)
      // one whose publish was never confirmed may lie in the log all the same, and be in retry when all others are done
      if (lacking().length === 0 && found?.uncommitted === 0) break
      await systemClock.sleep(1_000, over.signal)
    }
    const late = over.signal.aborted
    over.abort()
    await Promise.all([fault, patience])
    if (late) options.say?.('out of patience')
    await Promise.all([...workers].map((each) => end(each, 'SIGTERM')))
    const { dead, uncommitted } = await census(options.brokers, service, type)
    accounted = { dead, uncommitted }
    const done = effects()
    const unique = new Set(done)
    const twice = done.filter((id, at) => done.indexOf(id) !== at)
    const both = [...new Set(dead)].filter((id) => unique.has(id))
    const unanswered = new Set(written('unanswered-'))
    return {
      published: ids.length,
      done: unique.size,
      dead: new Set(dead).size,
      missing: lacking(),
      doubled: twice.length,
      buriedTwice: dead.length - new Set(dead).size,
      both: both.length,
      inexcusable: [...twice, ...both].filter((id) => !unanswered.has(id)),
      uncommitted,
      killed,
      seconds: Math.round((Date.now() - began) / 1000),
    }
  } finally {
    over.abort()
    await endAll(started)
    rmSync(folder, { recursive: true, force: true })
  }
}

const rulesWith = (lines: readonly string[]): string => `version: 1
policies:
  hurried:
    { backoff: exponential, initial: 100ms, multiplier: 2, max: 1s, jitter: half, retries: 6, window: 5m }
defaults:
  concurrency: 20
  window: 60
  lease: 5s
  policy: hurried
  timeout: 10s
${lines.map((line) => `  ${line}\n`).join('')}`
