import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../../src/adapters/system/clock.ts'
import { type Reprieve, reprieve } from '../../../src/index.ts'
import { endAll } from '../ended.ts'
import { countOrder, effectsIn, type OrderCount, parcelsIn } from './count.ts'

export interface OrderOptions {
  /** The transport's URL; `sqlite` means a file in the test's own folder. */
  readonly transport: string
  /** The store's URL, where it is no file in the test's own folder. */
  readonly store?: string
  readonly events: number
  readonly keys: number
  /** 2 where nothing is said. */
  readonly workers?: number
  readonly kills: number
  /** Handlers take up to so many milliseconds; 20 where nothing is said. */
  readonly slow?: number
  /** How many handlers a worker runs at once; it has twice as many out. 16 where nothing is said. */
  readonly width?: number
  /** What is done in place of killing a worker, beside the work. */
  readonly blow?: (on: OrderStage) => Promise<void>
  /** How many the broker itself still has for them, by a client that knows nothing of us. */
  readonly left?: (service: string, topic: string) => Promise<number>
  /** What else can be told of a run that stands still. */
  readonly standing?: (service: string, topic: string) => Promise<string>
  /** Gives up after this many milliseconds. */
  readonly patience: number
}

/** What a blow may do to the workers. */
export interface OrderStage {
  readonly topic: string
  join(): Promise<ChildProcess>
  /** In good order, by SIGTERM. */
  leave(worker: ChildProcess): Promise<void>
  /** How many effects it has had so far. */
  effectsOf(worker: ChildProcess): number
  /** All has been seen through: nobody will have any more. */
  over(): boolean
}

export interface OrderResult extends OrderCount {
  readonly kills: number
  /** I1: what was still on the broker or in the store when all had had their effects, and time enough was given. */
  readonly left: number
  readonly seconds: number
}

const here = import.meta.dirname
/**
 * Only where workers are killed must what they had come again soon; but one that a busy machine keeps still for longer than its
 * lease has its effects late. Where all live, leases outlast what is done to their store.
 */
const LEASES = { killed: '6s', living: '30s' }
const WIDTH = 16
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

/**
 * Several workers on one store, events that fail at random, one worker killed with SIGKILL in mid-flow, or a blow in its
 * place. The publisher publishes key by key in order; what happened is read from the workers' own record.
 */
export const orderTest = async (options: OrderOptions): Promise<OrderResult> => {
  const folder = mkdtempSync(join(tmpdir(), 'reprieve-order-'))
  const store = options.store ?? `sqlite:${join(folder, 'store.db')}`
  const transport = options.transport === 'sqlite' ? store : options.transport
  const effects = join(folder, 'effects.log')
  // names of our own: on Kafka members of one group disturb each other, whatever they read
  const run = `${process.pid}.${Date.now()}`
  const service = `order-svc-${run}`
  const type = `order.event.${run}`
  const started: ChildProcess[] = []
  const began = Date.now()
  const end = began + options.patience
  writeFileSync(effects, '')

  const startWorker = async (): Promise<ChildProcess> => {
    const child = fork(join(here, 'worker.ts'), [transport, store, effects], {
      env: {
        ...process.env,
        CHAOS_TYPE: type,
        CHAOS_SLOW: String(options.slow ?? 20),
        CHAOS_SERVICE: service,
        CHAOS_WIDTH: String(options.width ?? WIDTH),
        CHAOS_WINDOW: String(2 * (options.width ?? WIDTH)),
        CHAOS_LEASE: options.blow ? LEASES.living : LEASES.killed,
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
  let seen = 0
  /** Until whoever joins is there nothing more is published: it would come too late for all of it. */
  let joined: Promise<unknown> = Promise.resolve()
  const stage: OrderStage = {
    topic: type,
    over: () => seen >= options.events,
    join: () => {
      const worker = startWorker()
      joined = worker
      return worker
    },
    leave: async (child) => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      child.kill('SIGTERM')
      await gone
    },
    effectsOf: ({ pid }) => effectsIn(effects).filter(([, , worker]) => worker === String(pid)).length,
  }
  /** A little ahead of the workers, so that whoever is killed is also busy taking from the broker. */
  const publishAll = async () => {
    const publisher = await reprieve({ transport, store, rules: join(here, 'rules.yaml'), office: false })
    for (let n = 0; n < options.events / options.keys; n++) {
      while (seen < (n - AHEAD) * options.keys && Date.now() < end) await systemClock.sleep(20)
      const events = Array.from({ length: options.keys }, (_, k) => eventOf(type, `k${k}`, n))
      await joined
      await publishSurely(publisher, events, end)
    }
    await publisher.close()
  }
  /** Commits and acknowledgements follow what has happened. */
  const untilNothingIsLeft = async (): Promise<number> => {
    for (;;) {
      const onBroker = await options.left?.(service, type).catch(() => undefined)
      const left = (onBroker ?? 0) + (await parcelsIn(store))
      if ((left === 0 && (onBroker !== undefined || !options.left)) || Date.now() > end) return left
      await systemClock.sleep(500)
    }
  }

  const tellWhy = async (): Promise<void> => {
    for (const worker of started) if (worker.exitCode === null) worker.kill('SIGUSR2')
    const broker = await options.standing?.(service, type).catch(String)
    const parcels = await parcelsIn(store).catch(String)
    console.error(
      `it stands still with ${seen} of ${options.events} done; the store has ${parcels}\n${broker ?? ''}`,
    )
    await systemClock.sleep(500) // for what the workers say
  }

  try {
    const workers = await Promise.all(Array.from({ length: options.workers ?? 2 }, startWorker))
    const publishing = publishAll()
    publishing.catch(() => {}) // told when all is over
    let kills = 0
    let blow: Promise<void> = Promise.resolve()
    while (seen < options.events && Date.now() < end) {
      await systemClock.sleep(100)
      seen = countOrder(effectsIn(effects)).firsts
      if (kills < options.kills && seen >= (options.events * (kills + 1)) / (options.kills + 1)) {
        kills++
        if (options.blow) {
          blow = blow.then(() => options.blow!(stage))
          blow.catch(() => {}) // as above
        } else {
          await endAll([workers.shift()!])
          workers.push(await startWorker())
        }
      }
    }
    if (seen < options.events) await tellWhy()
    await publishing
    await blow
    const left = await untilNothingIsLeft()
    const counted = countOrder(effectsIn(effects))
    return { ...counted, kills, left, seconds: Math.round((Date.now() - began) / 1000) }
  } finally {
    await endAll(started)
    rmSync(folder, { recursive: true, force: true })
  }
}

const eventOf = (type: string, key: string, n: number) => ({
  id: `${type}-${key}-${n}`,
  source: 'order-test',
  type,
  extensions: { orderkey: key },
  headers: {},
  datacontenttype: 'application/json',
  data: Buffer.from(JSON.stringify({ key, n })),
})
