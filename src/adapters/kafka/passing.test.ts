import { crc32c } from '@platformatic/kafka'
import { expect, it } from 'vitest'
import { kafkaBench } from '../../../test/kafka/bench.ts'
import { makeTopic } from '../../../test/kafka/make-topic.ts'
import { describeWith } from '../../../test/services/urls.ts'
import type { Subscription } from '../../contracts/transport.ts'
import { virtualClock } from '../../testing/clock.ts'
import { makeSubscription, takeSome } from '../../testing/trials/kit.ts'
import { readBatches } from './batches.ts'
import { writeBatch } from './encode.ts'
import type { Group } from './group.ts'
import { DUE, PASSED, TARGET } from './headers.ts'
import type { Outgoing } from './outgoing.ts'
import { passing } from './passing.ts'
import { tenure } from './tenure.ts'
import type { Topics } from './topics.ts'
import type { Wire } from './wire.ts'

/** On a real broker: transport.test.ts. */
it.each([
  { had: 'none', more: [] },
  // by whoever may write there
  { had: 'one that is no number of times', more: [[PASSED, '-7']] },
] as const)('what is passed on has the headers that it had, and how often it was: $had', async ({ more }) => {
  const clock = virtualClock()
  const pairs: readonly (readonly [string, string | undefined])[] = [
    ['trace', 'abc'],
    ['none', undefined],
    [TARGET, 'orders'],
    [DUE, String(clock.now())],
    ...more,
  ]
  const headers = pairs.flatMap(([name, value]) => [
    Buffer.from(name),
    value === undefined ? value : Buffer.from(value),
  ])
  const topic = 'group.retry.1s'
  const record = { topic, key: undefined, value: Buffer.from('{}'), headers, bytes: 100, partition: 0 }
  const batch = writeBatch([record], { producerId: 1n, epoch: 0, sequence: 0 }, clock.now(), crc32c)
  const own = tenure({
    topic,
    partition: 0,
    parcels: true,
    offset: 0,
    mark: { out: 0, done: [] },
    squeezes: false,
  })
  own.accept(
    readBatches(batch, () => batch),
    [],
  )
  const left = new AbortController()
  const group = {
    later: () => topic,
    doors: () => new Set(),
    member: {
      left: left.signal,
      handing: true,
      tenures: new Map([['one', own]]),
      settling: () => () => {},
      commits: { flush: async () => new Map() },
      trouble: (doing: string, error: unknown) => expect.fail(`${doing}: ${error}`),
    },
  } as unknown as Group
  const sent: Outgoing[] = []
  const post = {
    send: async (records: readonly Outgoing[]) => {
      sent.push(...records)
      return records.map(() => undefined)
    },
    address: () => {},
    idle: async () => {},
  }
  const topics = { partitions: () => 1 } as unknown as Topics
  const done = passing({ tools: { clock } } as unknown as Wire, group, post, topics)
  await clock.advance(10_000)
  left.abort()
  await clock.runUntil(done)
  expect(sent).toHaveLength(1)
  const [copy] = sent as [Outgoing]
  const found = new Map<string, string | undefined>()
  for (let n = 0; n < copy.headers.length; n += 2)
    found.set(String(copy.headers[n]), copy.headers[n + 1]?.toString())
  expect([...found]).toEqual(
    expect.arrayContaining([
      ['trace', 'abc'],
      ['none', undefined],
      [PASSED, '1'],
    ]),
  )
})

describeWith('kafka', 'parcels that are passed on', (brokers) => {
  const { world, openSeen, raw, admin, facts, committed } = kafkaBench(brokers)

  /** Parcels for a topic that nobody subscribes to, already passed on so often. */
  const put = (to: Subscription, target: string, count: number, passed: number, value = '{}') =>
    raw.send({
      messages: Array.from({ length: count }, () => ({
        topic: `${to.consumerGroup}.retry.1s`,
        value: Buffer.from(value),
        headers: new Map(
          Object.entries({ [TARGET]: target, [DUE]: '1', [PASSED]: String(passed) }).map(
            ([name, text]) => [Buffer.from(name), Buffer.from(text)] as const,
          ),
        ),
      })),
      acks: -1,
    })

  it('to nobody for so long that they only go round every hour are told of, once for each topic', async () => {
    const to = makeSubscription(world)
    const { transport } = await openSeen()
    const inlet = await transport.subscribe(to)
    const gone = world.name('gone')
    const told = () =>
      facts.flatMap((fact) => (fact.is === 'notice' && fact.text.includes(gone) ? [fact.text] : []))
    const moved = async (count: number) => {
      while ((await committedOf()) < count) await takeSome(world, inlet, { within: 200 })
    }
    const committedOf = async () =>
      (await committed(to.consumerGroup, `${to.consumerGroup}.retry.1s`)).reduce(
        (sum, { offset }) => sum + offset,
        0,
      )
    await put(to, gone, 2, 3)
    await moved(2)
    expect(told()).toEqual([])
    await put(to, gone, 3, 100)
    await moved(5)
    await put(to, gone, 1, 100)
    await moved(6)
    expect(told()).toEqual([expect.stringMatching(/no member of .* subscribes to/)])
  })

  it('to where they do not fit stay where they are, and that is told', async () => {
    const to = makeSubscription(world)
    const next = `${to.consumerGroup}.retry.5s`
    await makeTopic(admin, next, { partitions: 3, settings: { 'max.message.bytes': '1000' } })
    const { transport } = await openSeen()
    const inlet = await transport.subscribe(to)
    await put(to, world.name('gone'), 1, 3, 'x'.repeat(5_000))
    const enough = new AbortController()
    const waiting = inlet.receive(1, enough.signal)
    const told = () =>
      facts.flatMap((fact) =>
        fact.is === 'trouble' && fact.error.message.includes(to.consumerGroup) ? [fact.error.message] : [],
      )
    await expect
      .poll(told, { timeout: 10_000 })
      .toContainEqual(expect.stringMatching(/passing on parcels: .*large/))
    enough.abort()
    expect(await waiting).toEqual([])
    const offsets = await committed(to.consumerGroup, `${to.consumerGroup}.retry.1s`)
    expect(offsets.map(({ offset }) => offset)).toEqual([0, 0, 0])
  })
})
