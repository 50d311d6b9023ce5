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
import { openWire, type Wire } from './wire.ts'

const tools = { clock: systemClock, dice: systemDice(), journal: () => {} }

describeWith('kafka', 'a member that joins again', (brokers) => {
  /** Two members with a partition each; the second one's wire may be bent. */
  const pair = async (bend = (wire: Wire): Wire => wire): Promise<readonly [Member, Member]> => {
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
    const openOne = async (bent = (wire: Wire): Wire => wire): Promise<Member> => {
      const wire = await openWire(
        await loadClient(),
        readUrl(`kafka://${brokers}?session=6000&heartbeat=200`),
        tools,
      )
      const member = memberOf(bent(wire), topic, host)
      onTestFinished(async () => {
        await member.leave()
        await wire.close()
      })
      member.join()
      return member
    }
    const first = await openOne()
    await expect.poll(() => first.handing && first.tenures.size).toBe(2)
    return [first, await openOne(bend)]
  }

  it('hands over again though nothing has changed: the broker answers all but the leader with the generation they have', async () => {
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
  it('takes over all that it is dealt, though it was still taking over what it was dealt before', async () => {
    const asksAgain = Promise.withResolvers<void>()
    /** It hears of its first commit only when it has asked for the next deal. */
    const slow = (wire: Wire): Wire => {
      const { offsetCommitV8 } = wire.client
      let committed = false
      const commit = async (...request: Parameters<typeof offsetCommitV8.api.async>) => {
        const answer = await offsetCommitV8.api.async(...request)
        if (!committed) {
          committed = true
          await asksAgain.promise
        }
        return answer
      }
      return {
        ...wire,
        client: { ...wire.client, offsetCommitV8: { ...offsetCommitV8, api: { async: commit } } } as never,
        member: ({ beforeJoin, ...options }) =>
          wire.member({
            ...options,
            beforeJoin: async () => {
              await beforeJoin()
              if (committed) asksAgain.resolve()
            },
          }),
      }
    }
    const [first, second] = await pair(slow)
    const held: number[] = []
    const watch = () => {
      if (second.handing && held.at(-1) !== second.tenures.size) held.push(second.tenures.size)
      void second.bell.wait(undefined, second.left).then(() => second.left.aborted || watch())
    }
    watch()
    await expect.poll(() => first.handing && first.tenures.size).toBe(1)
    await first.leave()
    await expect.poll(() => second.handing && second.tenures.size).toBe(2)
    // not in between, with half of it, while the group was being dealt out anew
    expect(held).toEqual([2])
  })
})
