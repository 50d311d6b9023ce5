import { systemClock } from '../../../src/adapters/system/clock.ts'
import { openProxy } from '../../faults/proxy.ts'
import type { Moment } from '../../kafka/shears.ts'
import { wiredKafka } from '../../kafka/wired-kafka.ts'
import { ownBroker } from '../../rabbitmq/own-broker.ts'
import { openShears } from '../../rabbitmq/shears.ts'
import { leftAtEnd } from '../broker/left.ts'
import { leftOn, type OrderRun, standingOn } from './brokers.ts'
import { type OrderResult, type OrderStage, orderTest } from './run.ts'

const STALE = 30_000

/** Cuts that were made, of as many as there are blows; near the end of the work there may be no such request any more. */
export interface CutResult extends OrderResult {
  readonly cuts: number
}

/** Each blow is the next moment of these, some way into what is said then. */
const cutting = <M>(moments: readonly M[], arm: (moment: M, after: number) => void, cuts: () => number) => {
  let blows = 0
  return async (on: OrderStage): Promise<void> => {
    const before = cuts()
    arm(moments[blows++ % moments.length]!, Math.floor(Math.random() * 3))
    while (cuts() === before && !on.over()) await systemClock.sleep(20)
  }
}

/** What is in order is moved to the store, so that no copy is behind an ack. */
const FRAMES = ['confirm', 'bare ack', 'deliver'] as const

/** Beside a RabbitMQ of its own, whose connections are cut before publishes are confirmed, deliveries made, and acks said. */
export const rabbitmqCut = async (run: OrderRun): Promise<CutResult> => {
  const shears = openShears()
  const broker = await ownBroker()
  const wire = await openProxy(broker.url, { tap: shears.tap })
  try {
    const cuts = () => FRAMES.reduce((sum, frame) => sum + shears.cuts(frame), 0)
    const blow = cutting(FRAMES, shears.arm, cuts)
    const left = async () => (await leftAtEnd(broker, Date.now() + STALE)).length
    const result = await orderTest({ ...run, transport: wire.url, workers: 3, blow, left })
    return { ...result, cuts: cuts() }
  } finally {
    await wire.close()
    await broker.close()
  }
}

const MOMENTS: readonly Moment[] = ['confirm', 'commit', 'produce', 'committed']

/** Beside a Kafka of its own, whose connections are cut before and after records and commits are confirmed. */
export const kafkaCut = async (run: OrderRun): Promise<CutResult> => {
  const { kafka, shears, close } = await wiredKafka()
  try {
    const blow = cutting(MOMENTS, shears.arm, () => shears.cuts)
    const transport = `kafka://${kafka.brokers.join(',')}?session=6000&heartbeat=300`
    const seen = { left: leftOn(kafka.brokers), standing: standingOn(kafka.brokers) }
    const result = await orderTest({ ...run, transport, workers: 3, blow, ...seen })
    return { ...result, cuts: shears.cuts }
  } finally {
    await close()
  }
}
