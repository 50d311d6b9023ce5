import { Admin, Producer } from '@platformatic/kafka'
import { afterAll } from 'vitest'
import { loadClient } from '../../src/adapters/kafka/client.ts'
import { CODE, hasCode } from '../../src/adapters/kafka/errors.ts'
import { open } from '../../src/adapters/kafka/index.ts'
import { decodeMark } from '../../src/adapters/kafka/marks.ts'
import { readUrl } from '../../src/adapters/kafka/settings.ts'
import { kafkaTransport } from '../../src/adapters/kafka/transport.ts'
import { openWire } from '../../src/adapters/kafka/wire.ts'
import { systemClock } from '../../src/adapters/system/clock.ts'
import { systemDice } from '../../src/adapters/system/dice.ts'
import type { Fact } from '../../src/contracts/journal.ts'
import type { Clock } from '../../src/contracts/tools.ts'
import type { Transport } from '../../src/contracts/transport.ts'
import { realWorld } from '../../src/testing/trials/index.ts'
import { until } from '../until.ts'

/** Its waits are a twentieth as long: for what is done every half minute. */
export const hastyClock: Clock = {
  ...systemClock,
  sleep: (ms, signal) => systemClock.sleep(ms / 20, signal),
}

/** What is looked at every half minute is looked at every two seconds. */
export const soonClock: Clock = {
  ...systemClock,
  sleep: (ms, signal) => systemClock.sleep(ms === 30_000 ? 2_000 : ms, signal),
}

/** Transports on real brokers, closed and cleaned up after at the end of the tests; and what the brokers say. */
export const kafkaBench = (brokers: string, query = '') => {
  const url = `kafka://${brokers}${query}`
  const facts: Fact[] = []
  const tools = { clock: systemClock, dice: systemDice(), journal: (fact: Fact) => void facts.push(fact) }
  const world = realWorld(open, url, tools)
  const run = world.name('x').split('-').at(-2)!
  const admin = new Admin({ clientId: 'test', bootstrapBrokers: brokers.split(','), timeout: 30_000 })
  /** As a producer that knows nothing of us could. */
  const raw = new Producer({ clientId: 'test', bootstrapBrokers: brokers.split(','), retries: 3 })
  const opened: Transport[] = []
  afterAll(async () => {
    await raw.close()
    await Promise.all(opened.map((transport) => transport.close()))
    const ours = (await admin.listTopics()).filter((name) => name.includes(run))
    if (ours.length > 0) await admin.deleteTopics({ topics: ours })
    await admin.close()
  }, 60_000)

  /** With a look at what goes over the wire. */
  const openSeen = async (more = '', clock: Clock = systemClock) => {
    const wire = await openWire(await loadClient(), readUrl(url + more), { ...tools, clock })
    const transport = kafkaTransport(wire)
    opened.push(transport)
    return { transport, wire }
  }
  return {
    world,
    raw,
    admin,
    tools,
    facts,
    url,
    openSeen,
    openOne: async (more = '') => (await openSeen(more)).transport,
    committed: async (group: string, topic: string) => {
      // what a transaction commits is there a moment after its end was answered
      const stable = () => admin.listConsumerGroupOffsets({ groups: [group], requireStable: true })
      const [answer] = await until('no transaction to be open', () =>
        stable().catch((error: unknown) => {
          if (!hasCode(error, CODE.unstable)) throw error
          return undefined
        }),
      )
      const partitions = answer?.topics.find(({ name }) => name === topic)?.partitions ?? []
      return partitions.map(({ partitionIndex, committedOffset, metadata }) => {
        const offset = Number(committedOffset)
        return { partition: partitionIndex, offset, mark: decodeMark(metadata ?? '', offset) }
      })
    },
  }
}
