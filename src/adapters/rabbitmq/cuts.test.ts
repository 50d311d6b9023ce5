import { connect } from 'amqplib'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { type FaultProxy, openProxy } from '../../../test/faults/proxy.ts'
import { deskAt, hasty, idsOf, makeEvent, makeEvents, take, takeOne } from '../../../test/rabbitmq/desk.ts'
import { openShears } from '../../../test/rabbitmq/shears.ts'
import { describeWith } from '../../../test/services/urls.ts'
import { closeQuietly } from './client.ts'
import { PATIENCE } from './patience.ts'

describeWith('amqp', 'a connection to RabbitMQ that is cut at the worst moment', (url) => {
  const desk = deskAt(url)
  const shears = openShears()
  let wire: FaultProxy

  beforeAll(async () => {
    wire = await openProxy(url, { tap: shears.tap })
  })
  afterEach(() => wire.admit())
  afterAll(() => wire.close())

  const opened = async (at = wire.url) => {
    const to = desk.subscription()
    const transport = await desk.transport(at)
    return { to, transport, inlet: await transport.subscribe(to) }
  }

  it('between publish and confirm: publishing is refused at once, and what the broker took arrives', async () => {
    const { to, transport, inlet } = await opened()
    const events = makeEvents(20)
    shears.arm('confirm')
    const start = Date.now()
    await expect(transport.publish(to.topic, events)).rejects.toMatchObject({ code: 'unavailable' })
    expect(Date.now() - start).toBeLessThan(PATIENCE)
    // whoever was refused publishes again: the doubles have the same ids
    await transport.publish(to.topic, events)
    const seen = new Set<string>()
    while (seen.size < 20) for (const id of idsOf(await take(inlet, 1))) seen.add(id)
    expect([...seen].sort()).toEqual(events.map(({ id }) => id).sort())
  })

  it('between publish and confirm of a retry: it is still ours, and settled by another try', async () => {
    const { to, transport, inlet } = await opened()
    await transport.publish(to.topic, [makeEvent()])
    const delivery = await takeOne(inlet)
    const { trail } = delivery.parcel
    const parcel = { ...delivery.parcel, trail: { ...trail, spent: 1 } }
    shears.arm('confirm')
    const [answer] = await inlet.settle([{ do: 'later', delivery, parcel }])
    expect(answer).toMatchObject({ code: 'unavailable' })
    expect(await inlet.settle([{ do: 'later', delivery, parcel }])).toEqual(['done'])
    const again = await takeOne(inlet)
    expect(again.parcel).toMatchObject({ event: { id: delivery.parcel.event.id }, trail: { spent: 1 } })
  })

  it('between confirm and ack: the copy is there, and the original comes again as redelivered', async () => {
    const { to, transport, inlet } = await opened()
    await transport.publish(to.topic, [makeEvent()])
    const delivery = await takeOne(inlet)
    const { trail } = delivery.parcel
    const parcel = { ...delivery.parcel, trail: { ...trail, spent: 1 } }
    const other = desk.subscription()
    const plain = await transport.subscribe(other)
    await transport.publish(other.topic, [makeEvent()])
    const cuts = shears.cuts('ack')
    shears.arm('ack')
    // one with no copy behind it is another moment
    await plain.settle([{ do: 'ack', delivery: await takeOne(plain) }])
    await inlet.settle([{ do: 'later', delivery, parcel }])
    // the copy may come before the cut is noticed, and then once more
    const settled = new Map<number, boolean>()
    while (settled.size < 2) {
      const next = await takeOne(inlet)
      const [answer] = await inlet.settle([{ do: 'ack', delivery: next }])
      if (answer === 'done') settled.set(next.parcel.trail.spent, next.redelivered)
    }
    expect(shears.cuts('ack')).toBe(cuts + 1)
    expect([...settled.keys()].sort()).toEqual([0, 1])
    expect(settled.get(0)).toBe(true)
  })

  it('in the midst of deliveries: each arrives in the end', async () => {
    const { to, transport, inlet } = await opened()
    const events = makeEvents(100)
    shears.arm('deliver', 30)
    await transport.publish(to.topic, events)
    const seen = new Set<string>()
    while (seen.size < 100) {
      const some = await take(inlet, 10, 2000)
      const answers = await inlet.settle(some.map((delivery) => ({ do: 'ack', delivery })))
      for (const [i, { parcel }] of some.entries()) if (answers[i] === 'done') seen.add(parcel.event.id)
    }
    expect([...seen].sort()).toEqual(events.map(({ id }) => id).sort())
  })

  it('half-open, it is noticed by the missing heartbeat, and what was out comes again', async () => {
    const at = new URL(wire.url)
    at.search = '?heartbeat=1'
    const { to, transport, inlet } = await opened(at.href)
    await transport.publish(to.topic, [makeEvent()])
    const before = await takeOne(inlet)
    const seen = desk.facts.length
    wire.freeze()
    const told = () => desk.facts.slice(seen).map((fact) => (fact.is === 'trouble' ? fact.where : ''))
    await expect
      .poll(told)
      .toEqual(expect.arrayContaining(['rabbitmq publisher', `rabbitmq inlet ${to.service}.${to.topic}`]))
    expect(await inlet.settle([{ do: 'ack', delivery: before }])).toEqual(['lost'])
    wire.admit()
    wire.cut()
    const again = await takeOne(inlet)
    expect(again.parcel.event.id).toBe(before.parcel.event.id)
    await transport.publish(to.topic, [makeEvent({ id: 'after' })])
    expect((await takeOne(inlet)).parcel.event.id).toBe('after')
  })

  it('half-open, it can be left soon, and no socket stays behind', async () => {
    await expect.poll(() => wire.open).toBeLessThan(100)
    const own = await openProxy(url)
    const to = desk.subscription()
    const transport = await desk.transport(own.url)
    const inlet = await transport.subscribe(to)
    await transport.publish(to.topic, [makeEvent()])
    const delivery = await takeOne(inlet)
    expect(own.open).toBe(2)
    own.freeze()
    const publishing = transport.publish(to.topic, makeEvents(10)).catch(({ code }) => code)
    const settling = inlet.settle([{ do: 'later', delivery, parcel: delivery.parcel }])
    const start = Date.now()
    await transport.close()
    expect(Date.now() - start).toBeLessThan(30_000)
    expect(await publishing).toMatch(/unavailable|closed/)
    expect((await settling)[0]).not.toBe('done')
    await expect.poll(() => own.open).toBe(0)
    await own.close()
  })

  it('that dies during the good-bye is left at once, though the client never answers the call', async () => {
    const own = await openProxy(url)
    const connection = await connect(own.url)
    connection.on('error', () => {})
    own.freeze()
    const leaving = closeQuietly(connection)
    own.cut()
    await leaving
    await own.close()
  })

  it('half-open while it connects, it is given up in time, and no socket stays behind', async () => {
    const own = await openProxy(url)
    own.freeze()
    const start = Date.now()
    await expect(desk.transport(own.url, hasty(6))).rejects.toThrow(/no answer within 10000 ms/)
    expect(Date.now() - start).toBeLessThan(PATIENCE)
    await expect.poll(() => own.open).toBe(0)
    await own.close()
  })
})
