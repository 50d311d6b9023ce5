import { expect, it } from 'vitest'
import { testTools } from '../../testing/tools.ts'
import type { Group } from './group.ts'
import { tidying } from './tidying.ts'
import type { Wire } from './wire.ts'

const ROUND = 30_000

/** One partition of a retry topic whose commit moves on, and a broker that refuses as long as it is told to. */
const start = () => {
  const tools = testTools()
  const left = new AbortController()
  const tenure = {
    topic: 'svc.retry.1s',
    partition: 2,
    topicId: 'first',
    parcels: true,
    committed: 0,
    over: false,
  }
  const broker = { refuses: false, cuts: [] as number[], topicId: 'first' }
  const admin = {
    metadata: async () => ({ topics: new Map([[tenure.topic, { id: broker.topicId }]]) }),
    deleteRecords: async ({ topics }: { topics: { partitions: { offset: bigint }[] }[] }) => {
      if (broker.refuses) throw new Error('not now')
      broker.cuts.push(Number(topics[0]!.partitions[0]!.offset))
    },
  }
  const member = { left: left.signal, handing: true, tenures: new Map([['svc.retry.1s/2', tenure]]) }
  const over = tidying({ admin, tools } as unknown as Wire, { name: 'svc', member } as unknown as Group)
  const round = (committed: number) => {
    tenure.committed = committed
    return tools.clock.advance(ROUND)
  }
  const notices = () => tools.facts.flatMap((fact) => (fact.is === 'notice' ? [fact.text] : []))
  return { broker, round, notices, tools, leave: () => left.abort(), over }
}

it('cuts off what is finished, once', async () => {
  const { broker, round } = start()
  for (const committed of [0, 5, 5, 9]) await round(committed)
  expect(broker.cuts).toEqual([5, 9])
})

it('leaves a topic alone that was deleted and made anew: what nobody has read of it would be gone', async () => {
  const { broker, round } = start()
  await round(5)
  broker.topicId = 'second'
  await round(6)
  await round(7)
  expect(broker.cuts).toEqual([5])
})

it('goes on after an error: what could not be cut off is, when the broker takes it again', async () => {
  const { broker, round } = start()
  broker.refuses = true
  await round(5)
  await round(5)
  expect(broker.cuts).toEqual([])
  broker.refuses = false
  await round(5)
  expect(broker.cuts).toEqual([5])
})

it('tells of an error once, and again only after it went well', async () => {
  const { broker, round, notices } = start()
  broker.refuses = true
  for (const committed of [1, 2, 3]) await round(committed)
  expect(notices()).toEqual([expect.stringMatching(/^kafka: what svc has finished .* tried again: not now$/)])
  broker.refuses = false
  await round(4)
  broker.refuses = true
  await round(5)
  expect(notices()).toHaveLength(2)
})

it('ends when its member has left', async () => {
  const { broker, round, leave, over, tools } = start()
  leave()
  await tools.clock.runUntil(over)
  await round(5)
  expect(broker.cuts).toEqual([])
})
