import { randomUUID } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import { Admin } from '@platformatic/kafka'
import { expect, it, onTestFinished } from 'vitest'
import { makeTopic } from '../../../test/kafka/make-topic.ts'
import { describeWith } from '../../../test/services/urls.ts'
import { until } from '../../../test/until.ts'
import { systemClock } from '../system/clock.ts'
import { systemDice } from '../system/dice.ts'
import { type Consumer, loadClient } from './client.ts'
import { memberOf } from './member.ts'
import { readUrl } from './settings.ts'
import { openWire } from './wire.ts'

type Answered = (error: Error | null, answer?: unknown) => void
/** What is done to the brokers' answers to such a request, before the client has them. */
type Bend = (answered: Answered) => Answered

const tools = { clock: systemClock, dice: systemDice(), journal: () => {} }

describeWith('kafka', 'the only member of a consumer group', (brokers) => {
  /** Reads the first of two topics. */
  const lonely = async () => {
    const topics = [`lonely-${randomUUID()}`, `lonely-${randomUUID()}`]
    const [group] = topics as [string]
    const admin = new Admin({ clientId: 'test', bootstrapBrokers: brokers.split(','), timeout: 30_000 })
    onTestFinished(async () => {
      await admin.deleteTopics({ topics })
      await admin.close()
    })
    for (const topic of topics) await makeTopic(admin, topic, { partitions: 1 })
    const client = await loadClient()
    const wire = await openWire(client, readUrl(`kafka://${brokers}?session=6000&heartbeat=200`), tools)
    const bends = new Map<string, Bend>()
    const bent = (consumer: Consumer): Consumer => {
      const getApi = consumer[client.kGetApi].bind(consumer)
      const get = (name: string, callback: (error: Error | null, api?: unknown) => void) =>
        getApi(name, (error, api) => {
          const bend = bends.get(name)
          if (error || !bend) return callback(error, api)
          const ask = (...given: unknown[]) => {
            const answered = given.pop() as Answered
            ;(api as (...all: unknown[]) => void)(...given, bend(answered))
          }
          callback(null, Object.assign(ask, api))
        })
      return Object.assign(consumer, { [client.kGetApi]: get })
    }
    const reads = topics.slice(0, 1)
    const looks: (() => void)[] = []
    let consumer!: Consumer
    const member = memberOf(
      {
        ...wire,
        member: (options) => {
          consumer = bent(wire.member(options))
          return consumer
        },
      },
      group,
      {
        topics: () => reads,
        squeezes: false,
        carriesParcels: () => false,
        window: () => 10,
        ensure: async () => looks.shift()?.(),
      },
    )
    onTestFinished(async () => {
      await member.leave()
      await wire.close()
    })
    return { client, admin, group, topics, reads, looks, bends, member, consumer }
  }

  it('joins with a topic more though the client is about to join without it', async () => {
    const { group, admin, topics, reads, looks, bends, member, consumer } = await lonely()
    member.join()
    await expect.poll(() => member.handing && member.tenures.size).toBe(1)
    const thrown: unknown[] = []
    process.setUncaughtExceptionCaptureCallback((error) => void thrown.push(error))
    onTestFinished(() => process.setUncaughtExceptionCaptureCallback(null))
    const joined = Promise.withResolvers<void>()
    const goOn = Promise.withResolvers<void>()
    bends.set('JoinGroup', (answered) => (error, answer) => {
      if (error) return answered(error, answer)
      joined.resolve()
      void goOn.promise.then(() => setImmediate(answered, error, answer))
    })
    await admin.removeMembersFromConsumerGroup({
      groupId: group,
      members: [{ memberId: consumer.memberId! }],
    })
    await joined.promise
    const asked = Promise.withResolvers<void>()
    looks.push(asked.resolve)
    reads.push(topics[1]!)
    member.join()
    await asked.promise
    await turn()
    goOn.resolve()
    const places = topics.map((topic) => `${topic}/0`).sort()
    await until('both', () => thrown.length > 0 || (member.handing && member.tenures.size === 2))
    expect(thrown).toEqual([])
    expect([...member.tenures.keys()].sort()).toEqual(places)
  })

  it('leaves nothing behind when it leaves while a rebalance waits for its handlers', async () => {
    const { client, bends, member, consumer } = await lonely()
    member.join()
    await until('its partition', () => member.handing && member.tenures.size === 1)
    const settled = member.settling()
    bends.set('Heartbeat', (answered) => () => answered(new client.ProtocolError('REBALANCE_IN_PROGRESS')))
    await until('the rebalance', () => member.phase === 'finishing')
    const failed: Error[] = []
    // the client has timers for what it says so of
    consumer.on('error', (error: Error) => void failed.push(error))
    await member.leave()
    settled()
    await systemClock.sleep(200)
    expect(failed).toEqual([])
  })

  it('asks for another coordinator when brokers no longer know the one that they named', async () => {
    const { bends, member } = await lonely()
    const named: number[] = []
    bends.set('FindCoordinator', (answered) => (error, answer) => {
      const coordinators = (answer as { coordinators?: { nodeId: number }[] } | undefined)?.coordinators
      const gone = coordinators && named.length === 0
      named.push(coordinators?.[0]?.nodeId ?? -1)
      answered(error, gone ? { coordinators: [{ ...coordinators[0], nodeId: 999 }] } : answer)
    })
    member.join()
    await expect.poll(() => member.handing && member.tenures.size, { timeout: 8_000 }).toBe(1)
    expect(named.length).toBeGreaterThan(1)
  })
})
