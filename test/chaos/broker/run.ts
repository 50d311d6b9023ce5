import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../../../src/adapters/system/clock.ts'
import { reprieve } from '../../../src/index.ts'
import { openProxy } from '../../faults/proxy.ts'
import { type OwnBroker, ownBroker } from '../../rabbitmq/own-broker.ts'
import { openShears } from '../../rabbitmq/shears.ts'
import { type Count, count } from './count.ts'
import { openCrew } from './crew.ts'

/**
 * broker: it is killed and started again · confirm: a connection is cut between publish and confirm · ack: between confirm
 * and ack · consumer: a worker is killed · joining: one more joins and leaves again, while handlers are slow
 */
export const FAULTS = ['broker', 'confirm', 'ack', 'consumer', 'joining'] as const
export type Fault = (typeof FAULTS)[number]

export interface BrokerOptions {
  readonly events: number
  readonly workers: number
  /** Done one after the other, evenly over the progress of the work. */
  readonly blows: readonly Fault[]
  readonly slowness?: number
  readonly patience: number
  readonly say?: (line: string) => void
}

export interface BrokerResult extends Omit<Count, 'accounted'> {
  readonly published: number
  /** How often the publisher was refused, and published the same again. */
  readonly refused: number
  /** I1: what is still in any queue of the broker when all are accounted for. */
  readonly left: readonly string[]
  /** How often a connection was cut at each of these moments. */
  readonly cuts: { readonly confirm: number; readonly ack: number }
  /** How long the slowest took to leave in good order. */
  readonly leaving: number
  readonly seconds: number
}

const here = dirname(fileURLToPath(import.meta.url))
const BATCH = 100
const AHEAD = 5 * BATCH
const WARMING = 4000
/** Near the end of the work there may be no such frame any more. */
const CUT_WITHIN = 10_000

/** Quorum queues tell their lengths every five seconds: what it says may be as old, and a copy in a wait tier be missing. */
const STALE = 12_000

/** What the broker itself says is in its queues, unacknowledged included. */
const leftIn = async (broker: OwnBroker): Promise<readonly string[]> => {
  const lines = (await broker.control('list_queues', '-q', 'name', 'messages')).split('\n')
  return lines.filter((line) => /\t[1-9]\d*$/.test(line))
}

/** A private RabbitMQ behind a fault proxy, real worker processes on one store, and blows while they work. */
export const brokerTest = async (options: BrokerOptions): Promise<BrokerResult> => {
  const folder = mkdtempSync(join(tmpdir(), 'reprieve-chaos-broker-'))
  const store = `sqlite:${join(folder, 'store.db')}`
  const service = 'chaos-svc'
  const type = 'chaos.event'
  const shears = openShears()
  const broker = await ownBroker()
  const wire = await openProxy(broker.url, { tap: shears.tap })
  const transport = wire.url
  const crew = openCrew({ folder, transport, store, service, type, slowness: options.slowness ?? 20 })
  const began = Date.now()
  let leaving = 0

  const cutBefore = async (moment: 'confirm' | 'ack'): Promise<void> => {
    const before = shears.cuts(moment)
    shears.arm(moment, Math.floor(Math.random() * 3))
    const end = Date.now() + CUT_WITHIN
    while (shears.cuts(moment) === before && Date.now() < end) await systemClock.sleep(20)
  }
  const strike: Record<Fault, () => Promise<void>> = {
    broker: async () => {
      await broker.kill()
      await broker.start()
    },
    confirm: () => cutBefore('confirm'),
    ack: () => cutBefore('ack'),
    consumer: async () => {
      await crew.kill()
      await crew.join()
    },
    joining: async () => {
      if (crew.size <= options.workers) await crew.join()
      else leaving = Math.max(leaving, await crew.leave())
    },
  }

  try {
    for (let i = 0; i < options.workers; i++) await crew.join()
    const ids = Array.from({ length: options.events }, (_, n) => `e-${n}`)
    let refused = 0
    let published = 0
    const publish = async (): Promise<void> => {
      const app = await reprieve({ transport, store, rules: join(here, 'rules.yaml'), office: false })
      for (let at = 0; at < ids.length; at += BATCH) {
        const events = ids.slice(at, at + BATCH).map((id, i) => ({
          id,
          source: 'chaos',
          type,
          extensions: {},
          headers: {},
          datacontenttype: 'application/json',
          data: Buffer.from(JSON.stringify({ n: at + i })),
        }))
        while (published < at + events.length) {
          try {
            await app.publishEvents(events)
            published = at + events.length
          } catch {
            refused++
            await systemClock.sleep(100)
          }
        }
        // the queues that these need are declared by now; one that was declared a moment ago is forgotten by a broker
        // that is killed, with all it confirmed
        if (at === 0) await systemClock.sleep(WARMING)
        // not much ahead of the workers, so that each blow hits a publisher at work too
        while (published - counted.accounted.size > AHEAD) await systemClock.sleep(20)
      }
      await app.close()
    }
    let counted = count(folder, ids)
    const end = began + options.patience
    const publishing = publish()
    publishing.catch(() => {})
    let blows = 0
    while (counted.missing.length > 0 && Date.now() < end) {
      await systemClock.sleep(200)
      counted = count(folder, ids)
      const due = (ids.length * (blows + 0.5)) / options.blows.length
      const blow = options.blows[blows]
      if (blow && counted.accounted.size >= due) {
        blows++
        options.say?.(`${blow} at ${counted.accounted.size} of ${ids.length}`)
        await strike[blow]()
      }
    }
    await publishing
    let left = await leftIn(broker)
    for (let empty = Date.now(); Date.now() - empty < STALE && Date.now() < end; ) {
      await systemClock.sleep(500)
      left = await leftIn(broker)
      if (left.length > 0) empty = Date.now()
    }
    while (crew.size > 0) leaving = Math.max(leaving, await crew.leave())
    const { accounted: _, ...rest } = count(folder, ids)
    return {
      ...rest,
      published,
      refused,
      left,
      cuts: { confirm: shears.cuts('confirm'), ack: shears.cuts('ack') },
      leaving,
      seconds: Math.round((Date.now() - began) / 1000),
    }
  } finally {
    await crew.close()
    await wire.close()
    await broker.close()
    rmSync(folder, { recursive: true, force: true })
  }
}
