import * as client from '@platformatic/kafka'
import { describe, expect, it } from 'vitest'
import { virtualClock } from '../../testing/clock.ts'
import type { Outgoing } from './outgoing.ts'
import { postOffice } from './post.ts'
import type { Topics } from './topics.ts'
import type { Wire } from './wire.ts'

const record = (partition: number | undefined, text = '', key?: string): Outgoing => ({
  topic: 'orders',
  partition,
  key: key === undefined ? undefined : Buffer.from(key),
  value: Buffer.from(text),
  headers: [],
  bytes: 100,
})

/** Two brokers: the first leads partition 0, the second all others. Each answers when it is let. Real ones: sick.test.ts. */
const scripted = ({ led = [0, 1, 2], partitionsCount = 3, answers = true } = {}) => {
  const asked: string[] = []
  const silent = new Map<number, (() => void)[]>()
  const connect = async ({ host }: { host: number }) => ({
    send: (
      api: number,
      _version: number,
      create: () => client.Writer,
      _parse: unknown,
      _tagged: boolean,
      _alsoTagged: boolean,
      callback: (error: Error | null, answer?: unknown) => void,
    ) => {
      if (silent.has(host) && api !== 0) return callback(new Error('Request timed out'))
      if (api !== 0) return callback(null, { producerId: 1n, producerEpoch: 0 })
      const text = create().buffer.toString('latin1')
      const places = [0, 1, 2].map((n) => `orders/${n}`)
      const tell = () => callback(null, new Map(places.map((place) => [place, 0])))
      asked.push(...[...text.matchAll(/<(.*?)>/g)].map(([, name]) => name!))
      if (silent.has(host)) silent.get(host)!.push(tell)
      else tell()
    },
  })
  const partitions = Array.from({ length: partitionsCount }, (_, n) => ({ leader: n === 0 ? 1 : 2 }))
  const clock = virtualClock()
  const wire = {
    client,
    settings: { brokers: ['one', 'two'] },
    counts: { produces: 0, commits: 0, fetches: 0 },
    tools: { clock },
    producer: {
      connections: { get: connect },
      metadata: async () => ({
        brokers: new Map([
          [1, { host: 1 }],
          [2, { host: 2 }],
        ]),
        topics: new Map(answers ? [['orders', { partitions, partitionsCount }]] : []),
      }),
    },
  } as unknown as Wire
  const topics = { partitions: () => 3, led: () => led, forget: () => {} } as unknown as Topics
  return {
    post: postOffice(wire, topics),
    clock,
    asked,
    hush: (broker: number) => silent.set(broker, []),
    /** It answers what it was asked, and whatever comes. */
    wake: (broker: number) => {
      const tell = silent.get(broker) ?? []
      silent.delete(broker)
      for (const each of tell) each()
    },
  }
}

describe('records that are posted', () => {
  it('wait for a leader that is silent only where it leads, in their order', async () => {
    const { post, clock, asked, hush, wake } = scripted()
    await clock.runUntil(post.send([record(0), record(1)]))
    hush(1)
    const both = post.send([record(0, '<a>'), record(1, '<b>')])
    const waits = post.send([record(0, '<c>'), record(1, '<d>'), record(0, '<e>')])
    const other = post.send([record(1, '<f>')])
    expect(await clock.runUntil(other, { most: 2_000 })).toEqual([undefined])
    expect(await clock.runUntil(post.send([record(1, '<g>')]), { most: 2_000 })).toEqual([undefined])
    // one at a time for each partition
    expect(asked).toEqual(['a', 'b', 'd', 'f', 'g'])
    wake(1)
    expect(await clock.runUntil(Promise.all([both, waits]), { most: 2_000 })).toEqual([
      [undefined, undefined],
      [undefined, undefined, undefined],
    ])
    expect(asked.slice(5)).toEqual(['c', 'e'])
    await clock.runUntil(post.idle())
  })

  it('are not called lost where they are durable, when the rest of them is given up', async () => {
    const { post, clock, asked, hush, wake } = scripted()
    await clock.runUntil(post.send([record(0), record(1)]))
    hush(1)
    const since = clock.now()
    const both = post.send([record(0, '<a>'), record(1, '<b>')])
    const behind = post.send([record(0, '<c>')])
    const unavailable = expect.objectContaining({ code: 'unavailable' })
    expect(await clock.runUntil(both, { most: 40_000 })).toEqual([unavailable, undefined])
    expect(clock.now() - since).toBeLessThan(31_000)
    expect(await clock.runUntil(behind, { most: 1_000 })).toEqual([unavailable])
    // who can't be taken is told at once, and others are taken
    expect(await clock.runUntil(post.send([record(0, '<d>'), record(1, '<e>')]), { most: 2_000 })).toEqual([
      unavailable,
      undefined,
    ])
    wake(1)
    await clock.advance(1)
    expect(await clock.runUntil(post.send([record(0, '<f>')]), { most: 2_000 })).toEqual([undefined])
    expect(asked).toEqual(['a', 'b', 'e', 'f'])
  })

  it('have an order where their key is empty, and go in turn only where there is none', async () => {
    const { post, clock } = scripted()
    const empty = Array.from({ length: 4 }, () => record(undefined, '', ''))
    await clock.runUntil(post.send(empty))
    // as the Java client has it: a hash of no bytes
    expect(empty.map(({ partition }) => partition)).toEqual(
      Array(4).fill((client.murmur2(Buffer.alloc(0)) & 0x7fffffff) % 3),
    )
    const keyless = Array.from({ length: 4 }, () => record(undefined))
    await clock.runUntil(post.send(keyless))
    expect(keyless.map(({ partition }) => partition)).toEqual([0, 1, 2, 0])
  })

  it('go where somebody leads, where they may', async () => {
    const { post, clock } = scripted({ led: [1, 2] })
    const keyless = Array.from({ length: 4 }, () => record(undefined))
    await clock.runUntil(post.send(keyless))
    expect(keyless.map(({ partition }) => partition)).toEqual([1, 2, 1, 2])
  })

  it.each([
    { of: 'a topic that nobody names', how: { answers: false } },
    { of: 'a topic without partitions', how: { partitionsCount: 0 } },
  ])('are refused in clear words, and keep their partition: $of', async ({ how }) => {
    const { post, clock } = scripted(how)
    const lost = record(1)
    const [answer] = await clock.runUntil(post.send([lost]), { most: 10_000 })
    expect(answer).toMatchObject({ code: 'unavailable', message: expect.stringContaining('topic orders') })
    expect(lost.partition).toBe(1)
  })
})
