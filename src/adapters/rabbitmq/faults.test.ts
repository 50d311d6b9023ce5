import { afterAll, beforeAll, expect, it } from 'vitest'
import { openProxy } from '../../../test/faults/proxy.ts'
import {
  burial,
  deskAt,
  hasty,
  idsOf,
  makeEvent,
  makeEvents,
  take,
  takeOne,
} from '../../../test/rabbitmq/desk.ts'
import { describeOwnBroker, type OwnBroker, ownBroker } from '../../../test/rabbitmq/own-broker.ts'
import { until } from '../../../test/until.ts'
import type { Delivery, Settlement, Subscription } from '../../contracts/transport.ts'
import { freshParcel } from '../../core/parcel.ts'
import { systemClock } from '../system/clock.ts'
import { exchangeOfDead, HOME, HOMELESS, queueOf, tierName } from './names.ts'
import { writeParcel } from './write.ts'

/** How long the broker lets a delivery go unsettled before it closes the channel. */
const CONSUMER_TIMEOUT = 3000

describeOwnBroker('a RabbitMQ in trouble', () => {
  let own: OwnBroker
  const desk = deskAt(() => own.url)

  beforeAll(async () => {
    own = await ownBroker()
  })
  afterAll(() => own?.close())

  const opened = async (over: Partial<Subscription> = {}) => {
    const to = desk.subscription(over)
    const transport = await desk.transport()
    return { to, transport, inlet: await transport.subscribe(to) }
  }
  const troubles = (since: number) =>
    desk.facts.slice(since).flatMap((fact) => (fact.is === 'trouble' ? [fact] : []))

  it('killed and started again: the confirmed is there, what was out comes again, and no wait is early or late', async () => {
    const { to, transport, inlet } = await opened()
    await transport.publish(to.topic, makeEvents(20))
    const out = await take(inlet, 5)
    const waits = [4700, 9800, 19_000]
    // it has seen nobody before, and forgets the queue that it made last, with all it confirmed: so that is neither the
    // subscription's nor one of these tiers
    const began = Date.now()
    const parcels = waits.map((ms) => freshParcel(makeEvent({ id: `waits-${ms}` }), began + ms))
    await transport.forward(to, parcels)
    const seen = desk.facts.length
    await own.kill()
    await expect(desk.transport()).rejects.toMatchObject({ code: 'unavailable' })
    const publishing = transport.publish(to.topic, [makeEvent({ id: 'meanwhile' })]).catch(({ code }) => code)
    await own.start()
    const up = Date.now()
    let back: number | undefined
    const late = new Map<string, number>()
    const got = new Set<string>()
    while (got.size < 23) {
      const some = await take(inlet, 1, 30_000)
      const now = Date.now()
      expect(some, `${got.size} came, and then no more`).not.toEqual([])
      back ??= now
      const answers = await inlet.settle(some.map((delivery) => ({ do: 'ack', delivery })))
      for (const [i, { parcel }] of some.entries()) {
        if (answers[i] !== 'done' || parcel.event.id === 'meanwhile') continue
        got.add(parcel.event.id)
        if (parcel.event.id.startsWith('waits-')) late.set(parcel.event.id, now - parcel.due)
      }
    }
    for (const { parcel } of out) expect(got).toContain(parcel.event.id)
    const told = `the inlet back ${back! - up} ms later, late by ${JSON.stringify([...late])}`
    console.log(`a broker killed for ${up - began} ms: ${told}`)
    for (const wait of waits) {
      const by = late.get(`waits-${wait}`)!
      expect(by).toBeGreaterThanOrEqual(0)
      // it can't come before the inlet is back, and a broker that has just started is slow
      expect(by).toBeLessThan(Math.max(transport.can.late(wait), back! - (began + wait)) + 5000)
    }
    expect([undefined, 'unavailable']).toContain(await publishing)
    expect(await inlet.settle(out.map((delivery) => ({ do: 'ack', delivery })))).toEqual(
      out.map(() => 'lost'),
    )
    expect(troubles(seen).map(({ where }) => where)).toContain(`rabbitmq inlet ${queueOf(to)}`)
    await transport.close()
  })

  it('that closes all connections: why is told, by whoever publishes and whoever consumes', async () => {
    const { to, transport, inlet } = await opened()
    const seen = desk.facts.length
    await own.control('close_all_connections', 'moved at noon')
    const told = () =>
      troubles(seen).flatMap(({ where, error }) => (error.message.includes('moved at noon') ? [where] : []))
    await expect.poll(() => told().sort()).toEqual(['rabbitmq consumers', 'rabbitmq publisher'])
    await transport.publish(to.topic, [makeEvent()])
    expect(await takeOne(inlet)).toBeDefined()
    await transport.close()
  })

  it('that holds up publishers for want of memory: they are told so, acks get through, and all goes on after it', async () => {
    const { to, transport, inlet } = await opened()
    await transport.publish(to.topic, makeEvents(3))
    const [one, two, three] = (await take(inlet, 3)) as [Delivery, Delivery, Delivery]
    const hurried = await desk.transport(own.url, hasty(5))
    await hurried.publish(to.topic, [makeEvent()])
    await own.alarm(true)
    try {
      await expect(hurried.publish(to.topic, [makeEvent()])).rejects.toThrow(/takes no messages.*memory/)
      // a wait that nobody has asked for yet has to be declared first
      const unheard = [freshParcel(makeEvent(), systemClock.now() + 1_700_000)]
      await expect(hurried.forward(to, unheard)).rejects.toThrow(/takes no messages.*memory/)
      expect(await inlet.settle([{ do: 'ack', delivery: one }])).toEqual(['done'])
      // what needs a new home waits for it, and nobody waits for ever
      const left = hurried.close()
      const start = Date.now()
      await left
      expect(Date.now() - start).toBeLessThan(15_000)
      const putOff = () => inlet.settle([{ do: 'later', delivery: two, parcel: two.parcel }])
      const settling = putOff()
      await own.alarm(false)
      const [settled] = await settling
      // where the broker took longer than we wait it is still ours
      if (settled !== 'done') expect(settled).toMatchObject({ code: 'unavailable' })
      expect(settled === 'done' ? [settled] : await putOff()).toEqual(['done'])
      expect(await inlet.settle([{ do: 'give back', delivery: three }])).toEqual(['done'])
    } finally {
      await own.alarm(false)
    }
    const rest = await take(inlet, 4)
    expect(new Set(idsOf(rest))).toContain(two.parcel.event.id)
    expect(idsOf(rest)).not.toContain(one.parcel.event.id)
    await transport.close()
  })

  it('whose queue answers nobody: it is told how to mend it, and deleting the queue does', async () => {
    const { to, transport } = await opened()
    await transport.close()
    await own.control('eval', `sys:suspend(whereis('%2F_${queueOf(to)}')).`)
    const hurried = await desk.transport(own.url, hasty(10))
    const publish = () => hurried.publish(to.topic, [makeEvent({ id: 'after' })])
    const told = { code: 'unavailable', fix: expect.stringMatching(/quorum_status.* delete the queue/) }
    await expect(publish()).rejects.toMatchObject(told)
    const subscribing = hurried.subscribe(to)
    await expect(subscribing).rejects.toThrow(`when consuming '${queueOf(to)}'`)
    await expect(subscribing).rejects.toMatchObject(told)
    await (await desk.channel()).deleteQueue(queueOf(to))
    // with the queue the broker ends the connections of those who still waited for it, a moment later
    const inlet = await until('the queue to be made anew', () => hurried.subscribe(to).catch(() => undefined))
    await until(
      'the event to be taken',
      async () => (await Promise.allSettled([publish()]))[0].status === 'fulfilled',
    )
    expect((await takeOne(inlet)).parcel.event.id).toBe('after')
    await hurried.close()
  })

  it('that forbids to read a destination: it is told which right is lacking', async () => {
    await own.control('add_user', 'deaf', 'hidden')
    await own.control('set_permissions', 'deaf', '.*', '.*', '^$')
    const at = new URL(own.url)
    Object.assign(at, { username: 'deaf', password: 'hidden' })
    const transport = await desk.transport(at.href)
    await expect(transport.collect({ name: 'deaf.dlq' })).rejects.toMatchObject({
      message: expect.stringMatching(
        /can't consume 'deaf.dlq': ACCESS_REFUSED - (read )?access to queue 'deaf.dlq'/,
      ),
      fix: expect.stringMatching(/read permission on 'deaf.dlq'/),
    })
    await transport.close()
  })

  it('that closes a channel for an unsettled delivery: it is told, and the delivery comes again', async () => {
    await own.control('eval', `application:set_env(rabbit, consumer_timeout, ${CONSUMER_TIMEOUT}).`)
    await own.control('eval', 'application:set_env(rabbit, channel_tick_interval, 1000).')
    const { to, transport, inlet } = await opened()
    await transport.publish(to.topic, [makeEvent()])
    const seen = desk.facts.length
    const slow = await takeOne(inlet)
    const [again] = await take(inlet, 1, CONSUMER_TIMEOUT + 30_000)
    expect(again).toMatchObject({ redelivered: true, parcel: { event: { id: slow.parcel.event.id } } })
    expect(await inlet.settle([{ do: 'ack', delivery: slow }])).toEqual(['lost'])
    expect(await inlet.settle([{ do: 'ack', delivery: again! }])).toEqual(['done'])
    expect(troubles(seen).map(({ error }) => error.message)).toContainEqual(
      expect.stringMatching(
        /the channel was closed.*PRECONDITION_FAILED|the broker cancelled it.*unsettled/s,
      ),
    )
    await own.control('eval', 'application:set_env(rabbit, consumer_timeout, 1800000).')
    await transport.close()
  })

  it('whose queue was replaced by another kind: it is told with the fix until that one is gone', async () => {
    const to = desk.subscription()
    const wire = await openProxy(own.url)
    const transport = await desk.transport(wire.url)
    const inlet = await transport.subscribe(to)
    const channel = await desk.channel()
    const seen = desk.facts.length
    wire.refuse()
    wire.cut()
    await channel.deleteQueue(queueOf(to))
    await channel.assertQueue(queueOf(to), { durable: true })
    wire.admit()
    const told = () =>
      troubles(seen).map(({ error, retryIn }) => ({ ...error, again: retryIn !== undefined }))
    const refused = { code: 'topology_differs', fix: expect.stringContaining('delete'), again: true }
    await expect.poll(told).toContainEqual(expect.objectContaining(refused))
    await channel.deleteQueue(queueOf(to))
    await expect.poll(() => transport.publish(to.topic, [makeEvent()]).catch(() => 'unheard')).toBeUndefined()
    expect(await takeOne(inlet)).toBeDefined()
    await wire.close()
    await transport.close()
  })

  it.each(['exchange', 'queue'])(
    'that lost the %s of the dead: it is declared again for the next burial',
    async (what) => {
      const { to, transport, inlet } = await opened()
      await transport.publish(to.topic, [makeEvent()])
      const delivery = await takeOne(inlet)
      const channel = await desk.channel()
      if (what === 'exchange') await channel.deleteExchange(exchangeOfDead(queueOf(to)))
      else await channel.deleteQueue(to.destinations[0]!.name)
      const [first] = await inlet.settle([burial(delivery, to)])
      expect(first).toBeInstanceOf(Error)
      expect(await inlet.settle([burial(delivery, to)])).toEqual(['done'])
      const letters = await transport.collect(to.destinations[0]!)
      expect((await takeOne(letters)).parcel.event.id).toBeTruthy()
      await transport.close()
    },
  )

  it('whose consumer ends while a copy is on its way: what has a new home is settled, and told so', async () => {
    const { to, transport, inlet } = await opened()
    await transport.publish(to.topic, makeEvents(2))
    const [first, second] = (await take(inlet, 2)) as [Delivery, Delivery]
    const later = (delivery: Delivery): Settlement => ({
      do: 'later',
      delivery,
      parcel: { ...delivery.parcel, due: Date.now() + 480 },
    })
    // with its first use the tier is declared
    expect(await inlet.settle([later(first)])).toEqual(['done'])
    const seen = desk.facts.length
    await own.alarm(true)
    const settling = inlet.settle([later(second)])
    await (await desk.channel()).deleteQueue(queueOf(to))
    const told = () => troubles(seen).map(({ error }) => error.message)
    await expect.poll(told).toContainEqual(expect.stringContaining('cancelled'))
    await own.alarm(false)
    expect(await settling).toEqual(['done'])
    const ids = new Set<string>()
    while (!ids.has(second.parcel.event.id)) for (const id of idsOf([await takeOne(inlet)])) ids.add(id)
    await transport.close()
  })

  it('that refuses one tier: what waits there is told why, and whatever is settled beside it goes on', async () => {
    const wrong = tierName(15 * 60_000)
    const channel = await desk.channel()
    await channel.deleteQueue(wrong) // that of the others
    await channel.assertQueue(wrong, { durable: true })
    const { to, transport, inlet } = await opened()
    await transport.publish(to.topic, makeEvents(3))
    const [long, short, dead] = (await take(inlet, 3)) as [Delivery, Delivery, Delivery]
    const later = (delivery: Delivery, wait: number): Settlement => ({
      do: 'later',
      delivery,
      parcel: { ...delivery.parcel, due: Date.now() + wait },
    })
    const answers = await inlet.settle([later(long, 14 * 60_000), later(short, 50), burial(dead, to)])
    const refused = { code: 'topology_differs', message: expect.stringContaining(wrong) }
    expect(answers).toEqual([expect.objectContaining(refused), 'done', 'done'])
    expect((await takeOne(inlet)).parcel.event.id).toBe(short.parcel.event.id)
    // one that is home before its time can't wait there either
    const seen = desk.facts.length
    const early = freshParcel(makeEvent(), Date.now() + 14 * 60_000)
    const { body, options } = writeParcel(early, { exchange: '', key: '' })
    channel.sendToQueue(queueOf(to), body, options)
    const stop = new AbortController()
    const receiving = inlet.receive(1, stop.signal)
    const told = () => troubles(seen).map(({ error }) => error.message)
    await expect.poll(told).toContainEqual(expect.stringContaining(wrong))
    stop.abort()
    expect(await receiving).toEqual([])
    await channel.deleteQueue(wrong)
    expect(await inlet.settle([later(long, 14 * 60_000)])).toEqual(['done'])
    await transport.close()
  })

  it('waits whose queue was deleted hold up nobody, and are not lost', async () => {
    const [gone, there] = [await opened(), await opened()]
    const lost = Array.from({ length: 100 }, () => freshParcel(makeEvent(), Date.now() + 480))
    await gone.transport.forward(gone.to, lost)
    await gone.inlet.close()
    const channel = await desk.channel()
    await channel.deleteQueue(queueOf(gone.to))
    await systemClock.sleep(700)
    const start = Date.now()
    await there.transport.forward(there.to, [freshParcel(makeEvent({ id: 'mine' }), start + 480)])
    expect((await takeOne(there.inlet)).parcel.event.id).toBe('mine')
    // others may have left some there too
    const kept = new Set<string>()
    await until('all that were lost', async () => {
      const next = () => channel.get(HOMELESS, { noAck: true })
      for (let message = await next(); message; message = await next())
        if (message.fields.routingKey === queueOf(gone.to)) kept.add(message.properties.messageId)
      return kept.size === lost.length
    })
    for (const { transport } of [gone, there]) await transport.close()
  })

  it('that lost the way home, which others then made anew for themselves: waits come home, and events are heard', async () => {
    const clock = hasty(10)
    const to = desk.subscription()
    const transport = await desk.transport(own.url, clock)
    const inlet = await transport.subscribe(to)
    const wait = 9000
    await transport.forward(to, [freshParcel(makeEvent({ id: 'waited' }), clock.now() + wait)])
    const channel = await desk.channel()
    for (const exchange of [HOME, 'reprieve.events']) await channel.deleteExchange(exchange)
    const other = await opened()
    const publish = () => transport.publish(to.topic, [makeEvent({ id: 'heard' })])
    await expect(publish()).rejects.toMatchObject({ code: 'unheard' })
    await expect
      .poll(() =>
        publish().then(
          () => 'heard',
          ({ code }) => code,
        ),
      )
      .toBe('heard')
    expect((await takeOne(inlet)).parcel.event.id).toBe('heard')
    expect((await takeOne(inlet)).parcel.event.id).toBe('waited')
    for (const each of [transport, other.transport]) await each.close()
  })

  it('a letter stays however often an office hands it back or goes away with it', async () => {
    const { to, transport, inlet } = await opened()
    await transport.publish(to.topic, [makeEvent()])
    await inlet.settle([burial(await takeOne(inlet), to)])
    for (let i = 0; i < 15; i++) {
      const office = await transport.collect(to.destinations[0]!)
      for (let j = 0; j < 2; j++) await office.settle([{ do: 'give back', delivery: await takeOne(office) }])
      await takeOne(office)
      await office.close()
    }
    const office = await transport.collect(to.destinations[0]!)
    expect(await office.settle([{ do: 'ack', delivery: await takeOne(office) }])).toEqual(['done'])
    await transport.close()
  })

  it('a queue that names no delivery limit loses a message at its 21st delivery from RabbitMQ 4 on', async () => {
    const channel = await desk.channel()
    await channel.assertQueue('limitless', { arguments: { 'x-queue-type': 'quorum' } })
    channel.sendToQueue('limitless', Buffer.from('{}'), { persistent: true })
    const next = async () => {
      for (let i = 0; i < 50; i++) {
        const message = await channel.get('limitless')
        if (message) return message
        await systemClock.sleep(20)
      }
      return undefined
    }
    let deliveries = 0
    for (; deliveries < 30; deliveries++) {
      const message = await next()
      if (!message) break
      channel.reject(message, true)
    }
    expect(deliveries).toBe(Number.parseInt(own.version, 10) >= 4 ? 21 : 30)
  })

  it('letters are dropped by the broker when the time that the rules give them is over', async () => {
    const service = 'brief'
    const { to, transport, inlet } = await opened({
      service,
      destinations: [{ name: `${service}.dlq`, expire: 4000 }],
    })
    await transport.publish(to.topic, [makeEvent()])
    expect(await inlet.settle([burial(await takeOne(inlet), to)])).toEqual(['done'])
    const channel = await desk.channel()
    const there = async () => (await channel.checkQueue(`${service}.dlq`)).messageCount
    await expect.poll(there).toBe(1)
    await expect.poll(there).toBe(0)
    await transport.close()
  })

  it('that makes quorum queues of whatever says nothing makes a classic one where that is asked for', async () => {
    await own.control('add_vhost', 'quorum', '--default-queue-type', 'quorum')
    await own.control('set_permissions', '-p', 'quorum', 'guest', '.*', '.*', '.*')
    const to = desk.subscription()
    const transport = await desk.transport(`${own.url}/quorum?queue=classic`)
    await transport.subscribe(to)
    const told = await own.control('list_queues', '-q', '-p', 'quorum', 'name', 'type')
    expect(told).toContain(`${queueOf(to)}\tclassic\n`)
    await transport.close()
  })

  it('classic queues are told with what they can lose', async () => {
    const seen = desk.facts.length
    await desk.transport(`${own.url}?queue=classic`)
    expect(desk.facts.slice(seen)).toContainEqual(
      expect.objectContaining({ is: 'notice', text: expect.stringMatching(/classic queues.*one node/) }),
    )
  })
})
