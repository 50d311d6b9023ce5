import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../../src/adapters/system/clock.ts'
import { type Reprieve, reprieve } from '../../src/index.ts'

const here = dirname(fileURLToPath(import.meta.url))

export interface OrderOptions {
  /** The transport's URL; `sqlite` means a file in the test's own folder. */
  readonly transport: string
  readonly events: number
  readonly keys: number
  readonly kills: number
  /** Where others may run beside it on the same broker. */
  readonly service?: string
  /** Handlers take up to so many milliseconds; 20 where nothing is said. */
  readonly slow?: number
  /** What is done in place of killing a worker, beside the work. */
  readonly blow?: (on: OrderStage) => Promise<void>
  /** Gives up after this many milliseconds. */
  readonly patience: number
}

/** What a blow may do to the workers. */
export interface OrderStage {
  join(): Promise<ChildProcess>
  /** In good order, by SIGTERM. */
  leave(worker: ChildProcess): Promise<void>
  /** How many effects it has had so far. */
  effectsOf(worker: ChildProcess): number
  /** All has been seen through: nobody will have any more. */
  over(): boolean
}

export interface OrderResult {
  /** First effects of each key, in the order in which they happened. */
  readonly byKey: ReadonlyMap<string, readonly number[]>
  readonly firsts: number
  /** Effects beyond the first: a worker died between its effect and the settlement. */
  readonly doubled: number
  /** Effects of a key that came after one that was published later. */
  readonly wentBack: number
  /** How many workers had effects: order is nothing to boast of where one did all. */
  readonly workers: number
  readonly kills: number
  readonly seconds: number
}

/** How many events of a key are published before the first of them is done. */
const AHEAD = 5

/** A broker that is down refuses, and whoever publishes in order must get one in before the next. */
const publishSurely = async (
  publisher: Reprieve,
  events: Parameters<Reprieve['publishEvents']>[0],
  end: number,
): Promise<void> => {
  for (;;) {
    try {
      return await publisher.publishEvents(events)
    } catch (error) {
      if (Date.now() > end) throw error
      await systemClock.sleep(100)
    }
  }
}

const wentBack = (effects: readonly (readonly [key: string, n: string])[]): number => {
  const newest = new Map<string, number>()
  return effects.filter(([key, text]) => {
    const n = Number(text)
    const before = newest.get(key) ?? -1
    newest.set(key, Math.max(n, before))
    return n < before
  }).length
}

/**
 * Two workers on one store, events that fail at random, one worker killed with SIGKILL in mid-flow. The publisher publishes
 * key by key in order; what happened is read from the workers' own record.
 */
export const orderTest = async (options: OrderOptions): Promise<OrderResult> => {
  const folder = mkdtempSync(join(tmpdir(), 'reprieve-order-'))
  const store = `sqlite:${join(folder, 'store.db')}`
  const transport = options.transport === 'sqlite' ? store : options.transport
  const effects = join(folder, 'effects.log')
  const type = `order.event.${process.pid}.${Date.now()}`
  const started: ChildProcess[] = []
  const began = Date.now()
  writeFileSync(effects, '')

  const startWorker = async (): Promise<ChildProcess> => {
    const child = fork(join(here, 'order-worker.ts'), [transport, store, effects], {
      env: {
        ...process.env,
        CHAOS_TYPE: type,
        CHAOS_SLOW: String(options.slow ?? 20),
        CHAOS_SERVICE: options.service ?? 'order-svc',
      },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    started.push(child)
    await Promise.race([
      once(child, 'message'),
      once(child, 'exit').then(() => Promise.reject(new Error('a worker could not start'))),
    ])
    return child
  }
  const kill = async (child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill(signal)
    await gone
  }
  const lines = (): readonly string[] => readFileSync(effects, 'utf8').split('\n').filter(Boolean)
  const nameOf = (line: string): string => line.slice(0, line.lastIndexOf(' '))
  let seen = 0
  /** Until whoever joins is there nothing more is published: it would come too late for all of it. */
  let joined: Promise<unknown> = Promise.resolve()
  const stage: OrderStage = {
    over: () => seen >= options.events,
    join: () => {
      const worker = startWorker()
      joined = worker
      return worker
    },
    leave: (child) => kill(child, 'SIGTERM'),
    effectsOf: ({ pid }) => lines().filter((line) => line.endsWith(` ${pid}`)).length,
  }

  try {
    const workers = [await startWorker(), await startWorker()]
    const publisher = await reprieve({ transport, store, rules: join(here, 'order.yaml'), office: false })
    const end = began + options.patience
    let kills = 0
    let blow: Promise<void> = Promise.resolve()
    const publishing = (async () => {
      for (let n = 0; n < options.events / options.keys; n++) {
        // a little ahead of the workers, so that whoever is killed is also busy taking from the broker
        while (seen < (n - AHEAD) * options.keys && Date.now() < end) await systemClock.sleep(20)
        const events = Array.from({ length: options.keys }, (_, k) => ({
          id: `${type}-${k}-${n}`,
          source: 'order-test',
          type,
          extensions: { orderkey: `k${k}` },
          headers: {},
          datacontenttype: 'application/json',
          data: Buffer.from(JSON.stringify({ key: `k${k}`, n })),
        }))
        await joined
        await publishSurely(publisher, events, end)
      }
      await publisher.close()
    })()

    while (seen < options.events && Date.now() < end) {
      await systemClock.sleep(100)
      seen = new Set(lines().map(nameOf)).size
      if (kills < options.kills && seen >= (options.events * (kills + 1)) / (options.kills + 1)) {
        kills++
        if (options.blow) {
          blow = blow.then(() => options.blow!(stage))
          blow.catch(() => {}) // told when all is over
        } else {
          await kill(workers.shift()!)
          workers.push(await startWorker())
        }
      }
    }
    await publishing
    await blow
    const all = lines()
    const firsts = [...new Set(all.map(nameOf))].map((line) => line.split(' ') as [string, string])
    const byKey = new Map(
      [...Map.groupBy(firsts, ([key]) => key)].map(([key, some]) => [key, some.map(([, n]) => Number(n))]),
    )
    return {
      byKey,
      firsts: firsts.length,
      doubled: all.length - firsts.length,
      wentBack: wentBack(all.map((line) => line.split(' ') as [string, string])),
      workers: new Set(all.map((line) => line.slice(line.lastIndexOf(' ')))).size,
      kills,
      seconds: Math.round((Date.now() - began) / 1000),
    }
  } finally {
    await Promise.all(started.map((each) => kill(each)))
    rmSync(folder, { recursive: true, force: true })
  }
}
