import { Admin } from '@platformatic/kafka'
import { systemClock } from '../../../src/adapters/system/clock.ts'
import type { OwnKafka } from '../../kafka/own-kafka.ts'
import type { Moment, Shears } from '../../kafka/shears.ts'
import { until } from '../../until.ts'
import type { StormOptions } from './storm.ts'

type Fault = StormOptions['fault']

/** Nothing goes wrong: what the others are measured against. */
export const calm: Fault = async () => {}

/** The broker is killed in mid-flow, comes back after a while, and is killed again. */
export const brokerKilled =
  (kafka: OwnKafka, times = 2): Fault =>
  async (stage, over) => {
    for (let n = 1; n <= times && !over.aborted; n++) {
      await stage.reached(n / (times + 1), over)
      await killBroker(kafka)
    }
  }

export const killBroker = async (kafka: OwnKafka): Promise<void> => {
  await kafka.kill()
  await systemClock.sleep(1_500)
  await kafka.start()
}

/** All connections go through a wire, and one of them is cut just before a chosen request or answer. */
export const wireCut =
  (shears: Shears, moments: readonly Moment[], times: number): Fault =>
  async (stage, over) => {
    for (let n = 1; n <= times && !over.aborted; n++) {
      await stage.reached((n - 0.5) / times, over)
      const before = shears.cuts
      shears.arm(moments[n % moments.length]!, Math.floor(Math.random() * 5))
      // near the end of the work there may be no such request any more
      while (shears.cuts === before && !over.aborted) await systemClock.sleep(20, over)
    }
  }

/** Whoever leads the first partition of the source is killed, and comes back when another leads. */
export const leaderLost =
  (kafka: OwnKafka, times = 1): Fault =>
  async (stage, over) => {
    for (let n = 1; n <= times && !over.aborted; n++) {
      await stage.reached(n / (times + 1), over)
      await loseLeader(kafka, stage.topic)
    }
  }

export const loseLeader = async (kafka: OwnKafka, topic: string): Promise<void> => {
  const leader = await leaderOf(kafka.brokers, topic)
  await kafka.kill(leader)
  const others = kafka.brokers.filter((_, at) => at !== leader)
  await until('another leader', async () => {
    const next = await leaderOf(others, topic).catch(() => leader)
    return next >= 0 && next !== leader
  })
  await kafka.start(leader)
}

export const workersKilled =
  (times: number): Fault =>
  async (stage, over) => {
    for (let n = 1; n <= times && !over.aborted; n++) {
      await stage.reached((n - 0.5) / times, over)
      if (over.aborted) return
      await stage.killOne()
      await stage.join()
    }
  }

/** One more worker joins and leaves in good order, again and again. */
export const comeAndGo =
  (every = 2_000): Fault =>
  async (stage, over) => {
    while (!over.aborted) {
      const guest = await stage.join()
      await systemClock.sleep(every, over)
      await stage.leave(guest)
      await systemClock.sleep(every, over)
    }
  }

/** Its index; less than 0 where nobody leads. */
const leaderOf = async (brokers: readonly string[], topic: string): Promise<number> => {
  const admin = new Admin({ clientId: 'chaos', bootstrapBrokers: [...brokers], retries: 5 })
  try {
    const { topics } = await admin.metadata({ topics: [topic] })
    return topics.get(topic)!.partitions[0]!.leader - 1
  } finally {
    await admin.close()
  }
}
