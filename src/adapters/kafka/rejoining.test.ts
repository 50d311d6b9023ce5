import { randomUUID } from 'node:crypto'
import { Admin } from '@platformatic/kafka'
import { expect, it, onTestFinished } from 'vitest'
import { makeTopic } from '../../../test/kafka/make-topic.ts'
import { describeWith } from '../../../test/services/urls.ts'
import { systemClock } from '../system/clock.ts'
import { systemDice } from '../system/dice.ts'
import { loadClient } from './client.ts'
import { type Member, memberOf } from './member.ts'
import { readUrl } from './settings.ts'
import { openWire } from './wire.ts'

const tools = { clock: systemClock, dice: systemDice(), journal: () => {} }

describeWith('kafka', 'a member that joins again though nothing has changed', (brokers) => {
  /** Two members with a partition each. */
  const pair = async (): Promise<readonly [Member, Member]> => {
    const topic = `rejoining-${randomUUID()}`
    const admin = new Admin({ clientId: 'test', bootstrapBrokers: brokers.split(','), timeout: 30_000 })
    onTestFinished(async () => {
      await admin.deleteTopics({ topics: [topic] })
      await admin.close()
    })
    await makeTopic(admin, topic, { partitions: 2 })
    const host = {
      topics: () => [topic],
      squeezes: false,
      carriesParcels: () => false,
      window: () => 10,
      ensure: async () => {},
    }
    const openOne = async (): Promise<Member> => {
      const wire = await openWire(
        await loadClient(),
        readUrl(`kafka://${brokers}?session=6000&heartbeat=200`),
        tools,
      )
      const member = memberOf(wire, topic, host)
      onTestFinished(async () => {
        await member.leave()
        await wire.close()
      })
      member.join()
      return member
    }
    return [await openOne(), await openOne()]
  }

  it('hands over again: the broker answers all but the leader with the generation they have', async () => {
    const both = await pair()
    const have = () => both.map(({ handing, tenures }) => handing && tenures.size)
    await expect.poll(have).toEqual([1, 1])
    for (const member of both) {
      const moves = new Promise<void>((resolve) => {
        const look = () => (member.phase === 'moving' ? resolve() : void member.bell.wait().then(look))
        look()
      })
      member.join()
      await moves
      await expect.poll(have).toEqual([1, 1])
    }
  })
})
