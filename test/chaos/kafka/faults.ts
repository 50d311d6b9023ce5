import { Admin } from '@platformatic/kafka'
import { systemClock } from '../../../src/adapters/system/clock.ts'
import type { OwnKafka } from '../../kafka/own-kafka.ts'
import type { Moment, Shears } from '../../kafka/shears.ts'
import { until } from '../../until.ts'
import type { Fault, Stage } from './storm.ts'

/** Nothing goes wrong: what the others are measured against. */
export const calm: Fault = { least: 0, strike: async () => 0 }

/** One after the other, each at its share of the work, while there is any. `blow` answers whether it fell. */
const striking =
  (shares: readonly number[], blow: (on: Stage, over: AbortSignal) => Promise<boolean>): Fault['strike'] =>
  async (stage, over) => {
    let fell = 0
    for (const share of shares) {
      await stage.reached(share, over)
      if (over.aborted) break
      if (await blow(stage, over)) fell++
    }
    return fell
  }

/** Each in the middle of its part of the work. */
const evenly = (times: number): readonly number[] =>
  Array.from({ length: times }, (_, n) => (n + 0.5) / times)
/** Away from the beginning and the end. */
const inside = (times: number): readonly number[] =>
  Array.from({ length: times }, (_, n) => (n + 1) / (times + 1))

/** The broker is killed in mid-flow, comes back after a while, and is killed again. */
export const brokerKilled = (kafka: OwnKafka, times = 2): Fault => ({
  least: times,
  strike: striking(inside(times), async () => {
    await killBroker(kafka)
    return true
  }),
})

export const killBroker = async (kafka: OwnKafka): Promise<void> => {
  await kafka.kill()
  await systemClock.sleep(1_500)
  await kafka.start()
}

/** All connections go through a wire, and one of them is cut just before a chosen request or answer, by turns. */
export const wireCut = (shears: Shears, moments: readonly Moment[], times: number): Fault => {
  let next = 0
  return {
    // near the end of the work there may be no such request any more
    least: times / 2,
    strike: striking(evenly(times), async (_, over) => {
      const before = shears.cuts
      shears.arm(moments[next++ % moments.length]!, Math.floor(Math.random() * 5))
      while (shears.cuts === before && !over.aborted) await systemClock.sleep(20, over)
      return shears.cuts > before
    }),
  }
}

/** Whoever leads the first partition of the source is killed, and comes back when another leads. */
export const leaderLost = (kafka: OwnKafka, times = 1): Fault => ({
  least: times,
  strike: striking(inside(times), async ({ topic }) => {
    await loseLeader(kafka, topic)
    return true
  }),
})

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

export const workersKilled = (times: number): Fault => ({
  least: times,
  deadly: true,
  strike: striking(evenly(times), async (stage) => {
    await stage.killOne()
    await stage.join()
    return true
  }),
})

/** One more worker joins and leaves in good order, again and again. */
export const comeAndGo = (every = 2_000): Fault => ({
  least: 1,
  strike: async (stage, over) => {
    let visits = 0
    for (; !over.aborted; visits++) {
      const guest = await stage.join()
      await systemClock.sleep(every, over)
      await stage.leave(guest)
      await systemClock.sleep(every, over)
    }
    return visits
  },
})

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
