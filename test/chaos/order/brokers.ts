import { systemClock } from '../../../src/adapters/system/clock.ts'
import { type OwnKafka, ownKafka } from '../../kafka/own-kafka.ts'
import { type OwnBroker, ownBroker } from '../../rabbitmq/own-broker.ts'
import { leftAtEnd } from '../broker/left.ts'
import { census } from '../kafka/census.ts'
import { killBroker, loseLeader } from '../kafka/faults.ts'
import { whoseAre } from '../kafka/whose.ts'
import { type OrderOptions, type OrderResult, type OrderStage, orderTest } from './run.ts'

export type OrderRun = Pick<OrderOptions, 'events' | 'keys' | 'kills' | 'patience'>

const STALE = 30_000
/** Two have less out than there are keys: so there is always one left for whoever joins. */
const GUESTS = { workers: 2, slow: 300, width: 6 }

const onRabbitmq = async (
  run: OrderRun,
  blow: (broker: OwnBroker, on: OrderStage) => Promise<void>,
  more: Partial<OrderOptions> = {},
): Promise<OrderResult> => {
  const broker = await ownBroker()
  try {
    const left = async () => (await leftAtEnd(broker, Date.now() + STALE)).length
    const common = { transport: broker.url, workers: 3, ...run, left }
    return await orderTest({ ...common, ...more, blow: (on) => blow(broker, on) })
  } finally {
    await broker.close()
  }
}

/** Beside a RabbitMQ of its own, which is killed and started again. */
export const rabbitmqKilled = (run: OrderRun): Promise<OrderResult> =>
  onRabbitmq(run, async (broker) => {
    await broker.kill()
    await broker.start()
  })

/** Beside a RabbitMQ of its own, while one more worker joins and leaves. */
export const rabbitmqGuests = (run: OrderRun): Promise<OrderResult> =>
  onRabbitmq(run, (_, on) => comeAndGo(on), GUESTS)

const onKafka = async (
  brokers: number,
  run: OrderRun,
  blow: (kafka: OwnKafka, on: OrderStage) => Promise<void>,
  more: Partial<OrderOptions> = {},
): Promise<OrderResult> => {
  const kafka = await ownKafka({ brokers })
  try {
    return await orderTest({
      workers: 3,
      ...run,
      ...more,
      transport: `kafka://${kafka.brokers.join(',')}?session=6000&heartbeat=300`,
      blow: (on) => blow(kafka, on),
      left: leftOn(kafka.brokers),
      standing: standingOn(kafka.brokers),
    })
  } finally {
    await kafka.close()
  }
}

/** Records past the commit of the group, and letters, of which there should be none. */
export const leftOn =
  (brokers: readonly string[]) =>
  async (service: string, topic: string): Promise<number> => {
    const { dead, uncommitted } = await census(brokers, service, topic)
    return dead.length + uncommitted
  }

export const standingOn =
  (brokers: readonly string[]) =>
  (service: string, topic: string): Promise<string> =>
    whoseAre(brokers, service, topic)

/** Beside a Kafka of its own, whose only broker is killed and started again. */
export const kafkaKilled = (run: OrderRun): Promise<OrderResult> => onKafka(1, run, killBroker)

/** Beside three Kafka brokers, of which whoever leads the first partition is killed. */
export const kafkaLeaderLost = (run: OrderRun): Promise<OrderResult> =>
  onKafka(3, run, (kafka, { topic }) => loseLeader(kafka, topic))

/** Beside a Kafka of its own, while one more worker joins and leaves, so that partitions go to and fro. */
export const kafkaGuests = (run: OrderRun): Promise<OrderResult> =>
  onKafka(1, run, (_, on) => comeAndGo(on), GUESTS)

/** It has had its share of the work before it goes, so that partitions really went to and fro. */
export const comeAndGo = async ({ join, leave, effectsOf, over }: OrderStage): Promise<void> => {
  const guest = await join()
  while (effectsOf(guest) < 20 && !over()) await systemClock.sleep(100)
  await leave(guest)
}
