import * as client from '@platformatic/kafka'
import { describe, expect, it } from 'vitest'
import { virtualClock } from '../../testing/clock.ts'
import { readBatches } from './batches.ts'
import type { Outgoing } from './outgoing.ts'
import { produceBy, readAnswer } from './produce.ts'
import type { Wire } from './wire.ts'

/** What the broker says of the partitions it is asked for, in their order; an error: it says nothing. */
type Answer = readonly number[] | Error

const record = (partition: number, topic = 'orders'): Outgoing => ({
  topic,
  partition,
  key: undefined,
  value: Buffer.from('{}'),
  headers: [],
  bytes: 100,
})

/** One broker that leads every partition, and answers as it is told. Real brokers: cuts.test.ts, transport.test.ts. */
const scripted = (answers: Answer[], { partitionsCount = 3, unseen = 0, away = false } = {}) => {
  const asked: { readonly place: string; readonly producer: bigint; readonly batch: string }[][] = []
  const looks: boolean[] = []
  let producers = 0n
  const connection = {
    send: (
      api: number,
      _version: number,
      create: () => client.Writer,
      _parse: unknown,
      _tagged: boolean,
      _alsoTagged: boolean,
      callback: (error: Error | null, answer?: unknown) => void,
    ) => {
      if (api !== 0) return callback(null, { producerId: ++producers, producerEpoch: 0 })
      const seen = requestIn(create().buffer)
      asked.push(seen)
      const answer = answers.shift() ?? seen.map(() => 0)
      if (answer instanceof Error) return callback(answer)
      callback(null, new Map(seen.map(({ place }, n) => [place, answer[n]!])))
    },
  }
  const partitions = Array.from({ length: partitionsCount }, () => ({ leader: 1 }))
  const topic = { partitions, partitionsCount }
  const clock = virtualClock()
  const wire = {
    client,
    tools: { clock: { ...clock, sleep: (ms: number) => clock.advance(ms) } },
    producer: {
      connections: {
        get: async ({ host }: { host: string }) => {
          if (host === 'away') throw new Error('Connection to away timed out')
          return connection
        },
      },
      metadata: async ({ forceUpdate }: { forceUpdate: boolean }) => {
        looks.push(forceUpdate)
        if (looks.length <= unseen) throw new Error('nobody there')
        return {
          brokers: new Map([...(away ? [[9, { host: 'away' }] as const] : []), [1, { host: 'here' }]]),
          topics: new Map([
            ['orders', topic],
            ['bills', topic],
          ]),
        }
      },
    },
  } as unknown as Wire
  return { send: produceBy(wire).send, asked, looks, clock }
}

/** The batches of a request: its topics, their partitions, and what is written to each. */
const requestIn = (bytes: Buffer) => {
  const reader = client.Reader.from(bytes)
  reader.readNullableString()
  reader.readInt16()
  reader.readInt32()
  return reader
    .readArray((ofTopics) => {
      const topic = ofTopics.readString()
      return ofTopics.readArray((each) => ({ topic, partition: each.readInt32(), batch: each.readBytes() }))
    })
    .flat()
    .map(({ topic, partition, batch }) => ({
      place: `${topic}/${partition}`,
      producer: readBatches(batch, () => batch)[0]!.producerId,
      first: batch.readInt32BE(53),
      at: Number(batch.readBigInt64BE(27)),
      batch: batch.toString('hex'),
    }))
}

describe('records that are produced', () => {
  it('are numbered, each partition by itself, from one send to the next', async () => {
    const { send, asked } = scripted([])
    expect(await send([record(0), record(1), record(0)])).toBeUndefined()
    expect(await send([record(0), record(1, 'bills')])).toBeUndefined()
    expect(asked).toMatchObject([
      [
        { place: 'orders/0', first: 0, producer: 1n },
        { place: 'orders/1', first: 0, producer: 1n },
      ],
      [
        { place: 'orders/0', first: 2, producer: 1n },
        { place: 'bills/1', first: 0, producer: 1n },
      ],
    ])
  })

  it('are as old as our clock says', async () => {
    const { send, asked, clock } = scripted([])
    await send([record(0)])
    expect(asked).toMatchObject([[{ at: clock.now() }]])
  })

  it('are sent again to the byte where the answer was lost, and the broker says that it has them', async () => {
    const { send, asked, looks } = scripted([new Error('Connection closed'), [46]])
    expect(await send([record(0)])).toBeUndefined()
    expect(asked).toHaveLength(2)
    expect(asked[1]).toEqual(asked[0])
    expect(looks).toEqual([false, true])
  })

  it('are sent again alone where others are written, to whoever leads by then', async () => {
    const { send, asked } = scripted([[0, 6]])
    expect(await send([record(0), record(1)])).toBeUndefined()
    expect(asked.map((each) => each.map(({ place }) => place))).toEqual([
      ['orders/0', 'orders/1'],
      ['orders/1'],
    ])
    expect(asked[1]![0]).toEqual(asked[0]![1])
  })

  it.each([45, 59])('are numbered anew where the broker has forgotten their producer (%i)', async (code) => {
    const { send, asked } = scripted([[0], [code]])
    await send([record(0)])
    expect(await send([record(0)])).toBeUndefined()
    expect(asked).toMatchObject([
      [{ first: 0, producer: 1n }],
      [{ first: 1, producer: 1n }],
      [{ first: 0, producer: 2n }],
    ])
  })

  it('that are refused are not tried again, nor those that are written; the numbers begin anew', async () => {
    const { send, asked } = scripted([[10, 0]])
    expect(await send([record(0), record(1)])).toEqual(
      new Map([
        ['orders/0', 10],
        ['orders/1', 0],
      ]),
    )
    await send([record(1)])
    expect(asked[1]).toMatchObject([{ place: 'orders/1', first: 0, producer: 2n }])
    expect(asked).toHaveLength(2)
  })

  it('are given up after four tries', async () => {
    const cut = new Error('Connection closed')
    const { send, asked } = scripted([cut, cut, cut, cut])
    expect(await send([record(2)])).toEqual(new Map([['orders/2', cut]]))
    expect(asked).toHaveLength(4)
  })

  it('are given up where nobody can be asked who leads', async () => {
    const { send, asked, looks } = scripted([], { unseen: 4 })
    const outcomes = await send([record(0), record(1)])
    expect([...outcomes!.keys()]).toEqual(['orders/0', 'orders/1'])
    expect(outcomes!.get('orders/1')).toMatchObject({ message: 'nobody there' })
    expect([looks.length, asked.length]).toEqual([4, 0])
  })

  it('are tried again where the broker has a code for it that is unknown here', async () => {
    const { send, asked } = scripted([[31_000]])
    expect(await send([record(0)])).toBeUndefined()
    expect(asked).toHaveLength(2)
  })

  it('are not tried again where the client says that it is of no use', async () => {
    const closed = Object.assign(new Error('Client is closed.'), { canRetry: false })
    const { send, asked } = scripted([closed])
    expect(await send([record(0)])).toEqual(new Map([['orders/0', closed]]))
    expect(asked).toHaveLength(1)
  })

  it('are numbered though the first broker of all can not be reached: whoever leads them is asked', async () => {
    const { send, asked } = scripted([], { away: true })
    expect(await send([record(0)])).toBeUndefined()
    expect(asked).toHaveLength(1)
  })

  it('go to a partition that is there where the topic has fewer than it had', async () => {
    const { send, asked } = scripted([], { partitionsCount: 2, unseen: 1 })
    const late = record(2)
    await send([late])
    expect([late.partition, asked[0]![0]!.place]).toEqual([0, 'orders/0'])
  })
})

it('an answer is read as the protocol has it: codes by partition, whatever else it tells', () => {
  const bytes = client.Writer.create()
    .appendArray(
      [
        ['orders', [0, 10]],
        ['bills', [3]],
      ] as const,
      (to, [topic, codes]) => {
        to.appendString(topic).appendArray([...codes], (each, code, partition) => {
          each.appendInt32(partition!).appendInt16(code).appendInt64(5n).appendInt64(-1n).appendInt64(0n)
          each.appendArray(code === 10 ? ['too large'] : [], (error, text) => {
            error.appendInt32(0).appendString(text)
          })
          each.appendString(code === 10 ? 'a record is too large' : null)
        })
      },
    )
    .appendInt32(0)
    .appendTaggedFields().buffer
  expect(readAnswer(bytes)).toEqual(
    new Map([
      ['orders/0', 0],
      ['orders/1', 10],
      ['bills/0', 3],
    ]),
  )
})
