import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectCollected } from '../../../test/collected.ts'
import { openProxy } from '../../../test/faults/proxy.ts'
import { burial, deskAt, hasty, makeEvent, take, takeOne } from '../../../test/rabbitmq/desk.ts'
import { describeOwnBroker, type OwnBroker, ownBroker } from '../../../test/rabbitmq/own-broker.ts'
import type { Delivery, Settlement } from '../../contracts/transport.ts'
import { freshParcel } from '../../core/parcel.ts'
import { systemClock } from '../system/clock.ts'
import { queueOf, tierName } from './names.ts'
import { writeParcel } from './write.ts'

const MINUTE = 60_000
const TRIES = 3

describeOwnBroker('a RabbitMQ that confirms nothing for longer than it is waited for', () => {
  let own: OwnBroker
  const desk = deskAt(() => own.url)

  beforeAll(async () => {
    own = await ownBroker()
  })
  afterAll(() => own?.close())

  const waitingIn = async (queue: string) => (await (await desk.channel()).checkQueue(queue)).messageCount

  /** A delivery that is to wait in a tier of its own, and a transport whose patience is soon over. */
  const retry = async (minutes: number) => {
    const clock = hasty(8)
    const to = desk.subscription()
    await (await (await desk.transport()).subscribe(to)).close() // what it needs is made in peace
    const transport = await desk.transport(own.url, clock)
    const inlet = await transport.subscribe(to)
    await transport.publish(to.topic, [makeEvent()])
    const delivery = await takeOne(inlet)
    /** Counted from when it is first settled: what a test does before then would take it to a shorter tier. */
    let settlement: Settlement | undefined
    const settle = async () => {
      settlement ??= {
        do: 'later',
        delivery,
        parcel: { ...delivery.parcel, due: clock.now() + minutes * MINUTE },
      }
      return (await inlet.settle([settlement]))[0]
    }
    return { to, transport, inlet, clock, tier: tierName(minutes * MINUTE), settle }
  }

  it('for want of memory: what is tried again and again is there once', async () => {
    const { to, transport, tier, settle } = await retry(60)
    const event = makeEvent()
    const publish = () => transport.publish(to.topic, [event])
    await own.alarm(true)
    try {
      for (let n = 0; n < TRIES; n++) expect(await settle()).toMatchObject({ code: 'unavailable' })
      for (let n = 0; n < TRIES; n++) await expect(publish()).rejects.toThrow(/takes no messages.*memory/)
    } finally {
      await own.alarm(false)
    }
    await expect.poll(settle).toBe('done')
    await publish()
    expect(await waitingIn(tier)).toBe(1)
    await transport.close()
    await expect.poll(() => waitingIn(queueOf(to))).toBe(1) // given back by then
  })

  it('for want of memory: what was refused is kept by nobody for as long as that lasts', async () => {
    const { to, transport } = await retry(60)
    const publish = async (): Promise<WeakRef<object>> => {
      const data = Buffer.alloc(100_000)
      const refused = transport.publish(to.topic, [makeEvent({ data })])
      await expect(refused).rejects.toThrow(/takes no messages.*memory/)
      return new WeakRef(data.buffer)
    }
    await own.alarm(true)
    try {
      await publish() // on its way when the broker says so
      await expectCollected(await Promise.all([publish(), publish(), publish()]))
    } finally {
      await own.alarm(false)
    }
    await transport.close()
  })

  it('for its queue stands still: a copy that is tried again and again is there once', async () => {
    const { to, transport, tier, settle } = await retry(30)
    const leader = `'%2F_${tier}'`
    await own.control('eval', `sys:suspend(${leader}).`)
    try {
      for (let n = 0; n < TRIES; n++) expect(await settle()).toMatchObject({ code: 'unavailable' })
    } finally {
      await own.control('eval', `sys:resume(${leader}).`)
    }
    // confirmed while nobody waited for it
    await expect.poll(() => waitingIn(tier)).toBe(1)
    expect(await settle()).toBe('done')
    expect(await waitingIn(tier)).toBe(1)
    await transport.close()
    expect(await waitingIn(queueOf(to))).toBe(0)
  })

  it('and then finds no queue for it: it is not taken for kept', async () => {
    const { transport, tier, settle } = await retry(10)
    await own.alarm(true)
    try {
      expect(await settle()).toMatchObject({ code: 'unavailable' })
      await (await desk.channel()).deleteQueue(tier)
    } finally {
      await own.alarm(false)
    }
    await expect.poll(settle).toBe('done')
    expect(await waitingIn(tier)).toBe(1)
    await transport.close()
  })

  it('for a tier stands still: what is home before its time, and is to wait there again, is there once', async () => {
    const { to, transport, inlet, clock, tier } = await retry(5)
    const { body, options } = writeParcel(freshParcel(makeEvent(), clock.now() + 5 * MINUTE), {
      exchange: '',
      key: '',
    })
    const told = () =>
      desk.facts.filter((fact) => fact.is === 'trouble' && fact.where.includes(queueOf(to))).length
    const leader = `'%2F_${tier}'`
    await own.control('eval', `sys:suspend(${leader}).`)
    const stop = new AbortController()
    const receiving = inlet.receive(1, stop.signal)
    try {
      const channel = await desk.channel()
      channel.sendToQueue(queueOf(to), body, options)
      await expect.poll(told).toBeGreaterThanOrEqual(TRIES)
    } finally {
      await own.control('eval', `sys:resume(${leader}).`)
    }
    await expect.poll(() => waitingIn(tier)).toBeGreaterThan(0)
    await expect.poll(() => transport.counts.acks).toBeGreaterThan(0)
    stop.abort()
    expect(await receiving).toEqual([])
    await transport.close()
    expect(await waitingIn(tier)).toBe(1)
    await expect.poll(() => waitingIn(queueOf(to))).toBe(1) // the one that retry took and never settled
  })

  it('for one tier stands still: other waits and burials find their home all the same', async () => {
    const { to, transport, inlet, clock, tier, settle } = await retry(2)
    await transport.publish(to.topic, [makeEvent(), makeEvent()])
    const [short, dead] = (await take(inlet, 2)) as [Delivery, Delivery]
    const leader = `'%2F_${tier}'`
    await own.control('eval', `sys:suspend(${leader}).`)
    try {
      const stuck = settle()
      const parcel = { ...short.parcel, due: clock.now() + MINUTE }
      const others = await inlet.settle([{ do: 'later', delivery: short, parcel }, burial(dead, to)])
      expect(others).toEqual(['done', 'done'])
      expect(await stuck).toMatchObject({ code: 'unavailable' })
    } finally {
      await own.control('eval', `sys:resume(${leader}).`)
    }
    await expect.poll(settle).toBe('done')
    expect(await waitingIn(tier)).toBe(1)
    await transport.close()
  })

  it('for one queue stands still, and does not let itself be consumed: other consumers go on', async () => {
    const wire = await openProxy(own.url)
    const [stuck, well] = [desk.subscription(), desk.subscription()]
    const transport = await desk.transport(wire.url, hasty(8))
    const inlets = [await transport.subscribe(stuck), await transport.subscribe(well)] as const
    const other = await desk.transport()
    const leader = `'%2F_${queueOf(stuck)}'`
    await own.control('eval', `sys:suspend(${leader}).`)
    try {
      wire.cut()
      // the broker has a minute for whoever waits for a queue
      for (const since = Date.now(); Date.now() - since < 1.4 * MINUTE; ) {
        const event = makeEvent()
        await other.publish(well.topic, [event])
        const delivery = await takeOne(inlets[1])
        await inlets[1].settle([{ do: 'ack', delivery }])
        await systemClock.sleep(1000)
      }
    } finally {
      await own.control('eval', `sys:resume(${leader}).`)
    }
    await other.publish(stuck.topic, [makeEvent({ id: 'at last' })])
    expect((await takeOne(inlets[0])).parcel.event.id).toBe('at last')
    await transport.close()
    await wire.close()
  })

  it('for the queue that others publish to stands still: what was taken finds a new home all the same', async () => {
    const { transport, settle } = await retry(15)
    const stuck = desk.subscription()
    await (await desk.transport()).subscribe(stuck)
    const leader = `'%2F_${queueOf(stuck)}'`
    await own.control('eval', `sys:suspend(${leader}).`)
    try {
      // the broker waits with all that its channel says for a queue that it has not spoken to before
      const publishing = transport.publish(stuck.topic, [makeEvent()])
      const [published, settled] = await Promise.allSettled([publishing, settle()])
      expect(published.status).toBe('rejected')
      expect(settled).toMatchObject({ value: 'done' })
    } finally {
      await own.control('eval', `sys:resume(${leader}).`)
    }
    await transport.close()
  })
})
