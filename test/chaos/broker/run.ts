import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../../../src/adapters/system/clock.ts'
import { reprieve } from '../../../src/index.ts'
import { openProxy } from '../../faults/proxy.ts'
import { ownBroker } from '../../rabbitmq/own-broker.ts'
import { openShears } from '../../rabbitmq/shears.ts'
import { type Count, count } from './count.ts'
import { openCrew } from './crew.ts'
import { type Called, openDownstream } from './downstream.ts'
import { dependentsOf, typeOf } from './fate.ts'
import { leftAtEnd } from './left.ts'
import { watchTokens } from './tokens.ts'

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

export interface BrokerResult extends Omit<Count, 'accounted'>, Called {
  readonly published: number
  /** How often the publisher was refused, and published the same again. */
  readonly refused: number
  /** I1: what is still in any queue of the broker when all are accounted for. */
  readonly left: readonly string[]
  /** I4: claims whose token fell. */
  readonly fell: readonly string[]
  /** How many blows of each kind fell. */
  readonly struck: Readonly<Record<Fault, number>>
  /** How long the slowest took to leave in good order. */
  readonly leaving: number
  readonly seconds: number
}

const here = dirname(fileURLToPath(import.meta.url))
const BATCH = 100
/** When so much of all is accounted for, the dependency of some is there again: so the others went on without it. */
const RESTORED = 0.5
const AHEAD = 5 * BATCH
const WARMING = 4000
/** Near the end of the work there may be no such frame any more. */
const CUT_WITHIN = 10_000

/** A private RabbitMQ behind a fault proxy, real worker processes on one store, and blows while they work. */
export const brokerTest = async (options: BrokerOptions): Promise<BrokerResult> => {
  const folder = mkdtempSync(join(tmpdir(), 'reprieve-chaos-broker-'))
  const file = join(folder, 'store.db')
  const store = `sqlite:${file}`
  const service = 'chaos-svc'
  const type = 'chaos.event'
  const shears = openShears()
  const broker = await ownBroker()
  const wire = await openProxy(broker.url, { tap: shears.tap })
  const transport = wire.url
  const downstream = await openDownstream()
  const slowness = options.slowness ?? 20
  const crew = openCrew({ folder, transport, store, service, type, slowness, downstream: downstream.url })
  const tokens = watchTokens(file)
  const began = Date.now()
  const struck: Record<Fault, number> = { broker: 0, confirm: 0, ack: 0, consumer: 0, joining: 0 }
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
    /** Nobody gets on with these before the dependency is there again. */
    const held = (): number => (downstream.isDown ? dependentsOf(published) : 0)
    const publish = async (): Promise<void> => {
      const app = await reprieve({ transport, store, rules: join(here, 'rules.yaml'), office: false })
      for (let at = 0; at < ids.length; at += BATCH) {
        const events = ids.slice(at, at + BATCH).map((id, i) => ({
          id,
          source: 'chaos',
          type: typeOf(type, at + i),
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
        while (published - counted.accounted.size - held() > AHEAD) await systemClock.sleep(20)
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
      if (counted.accounted.size >= ids.length * RESTORED) downstream.restore()
      const due = (ids.length * (blows + 0.5)) / options.blows.length
      const blow = options.blows[blows]
      if (blow && counted.accounted.size >= due) {
        blows++
        options.say?.(`${blow} at ${counted.accounted.size} of ${ids.length}`)
        await strike[blow]()
        struck[blow]++
      }
    }
    await publishing
    const left = await leftAtEnd(broker, end)
    while (crew.size > 0) leaving = Math.max(leaving, await crew.leave())
    await tokens.close()
    const { accounted: _, ...rest } = count(folder, ids)
    return {
      ...rest,
      ...downstream.tally(crew.started),
      fell: [...tokens.fell],
      published,
      refused,
      left,
      struck: { ...struck, confirm: shears.cuts('confirm'), ack: shears.cuts('ack') },
      leaving,
      seconds: Math.round((Date.now() - began) / 1000),
    }
  } finally {
    await crew.close()
    await downstream.close()
    await tokens.close().catch(() => {}) // what went wrong before is told
    await wire.close()
    await broker.close()
    rmSync(folder, { recursive: true, force: true })
  }
}
