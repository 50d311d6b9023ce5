import { describe, expect, it } from 'vitest'
import { deskAt, idsOf, makeEvent, makeEvents, take, takeOne } from '../../../test/rabbitmq/desk.ts'
import { describeWith } from '../../../test/services/urls.ts'
import type { Delivery, Settlement, Subscription } from '../../contracts/transport.ts'
import type { Failure } from '../../core/failure.ts'
import { writeLetter } from '../../core/letter.ts'
import { readLetter, readReceipt } from '../../core/letter-reading.ts'
import { extendTrail } from '../../core/trail.ts'

const failure: Failure = {
  category: 'permanent',
  kind: 'business',
  name: 'Error',
  message: 'no such order',
  because: 'a test',
}

const burial = (delivery: Delivery, to: Subscription, destination: string): Settlement => {
  const death = { reason: 'permanent', failure, at: 1_790_000_000_000, limit: 5, fingerprint: 'f' } as const
  const letter = writeLetter(delivery.parcel, { ...to, transport: 'rabbitmq' }, destination, death)
  return { do: 'bury', delivery, to: destination, letter }
}

const retry = (delivery: Delivery, wait: number): Settlement => {
  const { event, trail } = delivery.parcel
  const parcel = { event, trail: extendTrail(trail, failure, Date.now()), due: Date.now() + wait }
  return { do: 'later', delivery, parcel }
}

const receiptFor = (to: string, letter = 'letter-1') =>
  ({ letter, to, outcome: 'done', at: 1_790_000_000_000, attempts: 1 }) as const

const settling = (url: string, type: string): void => {
  const desk = deskAt(url)
  const at = new URL(url)
  at.searchParams.set('queue', type)

  const start = async (count: number, over: Partial<Subscription> = {}) => {
    const to = desk.subscription(over)
    const transport = await desk.transport(at.href)
    const inlet = await transport.subscribe(to)
    await transport.publish(to.topic, makeEvents(count))
    return { to, transport, inlet, deliveries: await take(inlet, count) }
  }

  it('a mixed batch: acked, put off, buried, given back, each to its own place', async () => {
    const { to, transport, inlet, deliveries } = await start(4)
    const [acked, off, buried, back] = deliveries as [Delivery, Delivery, Delivery, Delivery]
    const office = desk.queue('receipts')
    const receipts = await transport.collect({ name: office })
    const destination = to.destinations[1]!.name
    const answers = await inlet.settle([
      { do: 'ack', delivery: acked, receipt: receiptFor(office) },
      retry(off, 50),
      burial(buried, to, destination),
      { do: 'give back', delivery: back },
    ])
    expect(answers).toEqual(['done', 'done', 'done', 'done'])
    const again = await take(inlet, 2)
    expect(idsOf(again)).toEqual(idsOf([off, back]))
    const byId = new Map(again.map((each) => [each.parcel.event.id, each]))
    expect(byId.get(off.parcel.event.id)).toMatchObject({
      parcel: { trail: { spent: 1 } },
      redelivered: false,
    })
    expect(byId.get(back.parcel.event.id)).toMatchObject({
      parcel: { trail: { spent: 0 } },
      redelivered: true,
    })
    const letters = await transport.collect({ name: destination })
    expect(readLetter((await takeOne(letters)).parcel.event)).toMatchObject({ event: buried.parcel.event })
    expect(readReceipt((await takeOne(receipts)).parcel.event)).toEqual(receiptFor(office))
  })

  it('one that finds no destination fails alone, and may be settled again', async () => {
    const { to, inlet, deliveries } = await start(3)
    const queue = `${to.service}.${to.topic}`
    const [first, second] = to.destinations as [{ name: string }, { name: string }]
    await (await desk.channel()).unbindQueue(second.name, `${queue}.dlx`, second.name)
    const [one, two, three] = deliveries as [Delivery, Delivery, Delivery]
    const answers = await inlet.settle([
      burial(one, to, first.name),
      burial(two, to, second.name),
      { do: 'ack', delivery: three },
    ])
    expect(answers).toEqual(['done', expect.objectContaining({ code: 'topology_differs' }), 'done'])
    expect(String(answers[1])).toContain(second.name)
    expect(await inlet.settle([burial(two, to, first.name)])).toEqual(['done'])
    expect(await inlet.settle([burial(two, to, first.name)])).toEqual(['lost'])
  })

  it('one that the broker will not keep fails alone', async () => {
    const { inlet, deliveries } = await start(2)
    const full = desk.queue('full')
    const channel = await desk.channel()
    const args = { 'x-queue-type': 'quorum', 'x-max-length': 1, 'x-overflow': 'reject-publish' }
    await channel.assertQueue(full, { durable: true, arguments: args })
    for (let n = 0; n < 5; n++) channel.sendToQueue(full, Buffer.from('x'))
    await expect.poll(async () => (await channel.checkQueue(full)).messageCount).toBeGreaterThan(0)
    const answers = await inlet.settle([
      { do: 'ack', delivery: deliveries[0]!, receipt: receiptFor(full) },
      { do: 'ack', delivery: deliveries[1]! },
    ])
    expect(answers).toEqual([expect.objectContaining({ code: 'unavailable' }), 'done'])
  })

  it('a retry costs two round trips, and a batch of them no more', async () => {
    const { transport, inlet, deliveries } = await start(11)
    await inlet.settle([retry(deliveries[0]!, 10_000)]) // the tier is declared with its first use
    const before = { ...transport.counts }
    await inlet.settle(deliveries.slice(1).map((delivery) => retry(delivery, 10_000)))
    expect(transport.counts).toEqual({
      ...before,
      published: before.published + 10,
      waits: before.waits + 1,
      acks: before.acks + 1,
    })
  })

  it('an acknowledgement leaves alone what is still open before it', async () => {
    const { to, transport, inlet, deliveries } = await start(6)
    const [, second, , fourth, ...rest] = deliveries
    await inlet.settle([
      { do: 'give back', delivery: second! },
      ...rest.map((delivery) => ({ do: 'ack', delivery }) as const),
      { do: 'ack', delivery: fourth! },
    ])
    await inlet.close()
    const other = await transport.subscribe(to)
    const left = await take(other, 3)
    expect(idsOf(left)).toEqual(idsOf(deliveries.slice(0, 3)))
    await other.settle(left.map((delivery) => ({ do: 'ack', delivery })))
    expect((await other.lag()).waiting).toBe(0)
  })

  it.each([0, 100_000])(
    'a window of %i, which the protocol can not say, is the next that it can',
    async (window) => {
      const to = desk.subscription({ window })
      const transport = await desk.transport()
      const inlet = await transport.subscribe(to)
      await transport.publish(to.topic, makeEvents(2))
      const got = await take(inlet, window === 0 ? 1 : 2)
      expect(await inlet.receive(1, AbortSignal.timeout(100))).toEqual([])
      await inlet.settle(got.map((delivery) => ({ do: 'ack', delivery })))
    },
  )

  it('settled at the same moment twice, one of the two is lost', async () => {
    const { transport, to, inlet, deliveries } = await start(1)
    const answers = await Promise.all([
      inlet.settle([burial(deliveries[0]!, to, to.destinations[0]!.name)]),
      inlet.settle([{ do: 'ack', delivery: deliveries[0]! }]),
    ])
    expect(answers).toEqual([['done'], ['lost']])
    const letters = await transport.collect(to.destinations[0]!)
    expect(await take(letters, 2, 500)).toHaveLength(1)
  })

  it('closing waits for what is being settled, and hands back the rest', async () => {
    const { transport, to, inlet, deliveries } = await start(3)
    const settling = inlet.settle([burial(deliveries[0]!, to, to.destinations[0]!.name)])
    await inlet.close()
    expect(await settling).toEqual(['done'])
    expect(await inlet.settle([{ do: 'ack', delivery: deliveries[1]! }])).toEqual(['lost'])
    const left = await take(await transport.subscribe(to), 2)
    expect(idsOf(left)).toEqual(idsOf(deliveries.slice(1)))
    expect(left.every(({ redelivered }) => redelivered)).toBe(true)
  })

  it('what was handed over before is still so when it was put off, and put off again', async () => {
    const { inlet, deliveries } = await start(1)
    const putOff = async (delivery: Delivery) => {
      const parcel = { ...delivery.parcel, due: Date.now() + 50 }
      expect(await inlet.settle([{ do: 'later', delivery, parcel }])).toEqual(['done'])
      return takeOne(inlet)
    }
    const fresh = await putOff(deliveries[0]!)
    expect(fresh.redelivered).toBe(false)
    await inlet.settle([{ do: 'give back', delivery: fresh }])
    const again = await takeOne(inlet)
    expect(again.redelivered).toBe(true)
    const later = await putOff(again)
    expect(later.redelivered).toBe(true)
    expect((await putOff(later)).redelivered).toBe(true)
  })

  it('a broken record that is put off comes back broken', async () => {
    const to = desk.subscription()
    const transport = await desk.transport(at.href)
    const inlet = await transport.subscribe(to)
    const channel = await desk.channel()
    const contentType = 'application/cloudevents+json'
    channel.sendToQueue(`${to.service}.${to.topic}`, Buffer.from('{"no'), { contentType })
    const broken = await takeOne(inlet)
    expect(broken.broken).toMatch(/not JSON/)
    expect(broken.parcel.event).toMatchObject({ type: to.topic, data: Buffer.from('{"no') })
    await inlet.settle([
      { do: 'later', delivery: broken, parcel: { ...broken.parcel, due: Date.now() + 20 } },
    ])
    const again = await takeOne(inlet)
    expect(again).toMatchObject({ broken: broken.broken, parcel: { event: broken.parcel.event } })
  })

  it('an event that the client can not encode fails alone', async () => {
    const { inlet, deliveries } = await start(2)
    const [large, fine] = deliveries as [Delivery, Delivery]
    const event = makeEvent({ id: large.parcel.event.id, headers: { h: 'x'.repeat(70_000) } })
    const answers = await inlet.settle([
      { do: 'later', delivery: large, parcel: { ...large.parcel, event } },
      { do: 'later', delivery: fine, parcel: fine.parcel },
    ])
    expect(answers).toEqual([expect.any(Error), 'done'])
    expect(await inlet.settle([{ do: 'ack', delivery: large }])).toEqual(['done'])
  })
}

describe.each(['quorum', 'classic'])('%s queues:', (queue) => {
  describeWith('amqp', 'settling on RabbitMQ', (url) => settling(url, queue))
})
