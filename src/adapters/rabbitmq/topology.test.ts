import type { Options } from 'amqplib'
import { expect, it } from 'vitest'
import { deskAt, makeEvent, makeEvents, take, takeOne, uniqueName } from '../../../test/rabbitmq/desk.ts'
import { describeWith } from '../../../test/services/urls.ts'
import { HOME, tierName } from './names.ts'

describeWith('amqp', 'the topology on RabbitMQ', (url) => {
  const desk = deskAt(url)

  /** The broker refuses a declaration that differs in any argument: to be let pass is to be the same. */
  const isDeclared = async (queue: string, args: Options.AssertQueue['arguments']) => {
    const channel = await desk.channel()
    await channel.checkQueue(queue)
    await channel.assertQueue(queue, { durable: true, arguments: args })
    await channel.close()
  }

  it('a queue, its dead-letter exchange and destinations are declared by subscribe', async () => {
    const service = uniqueName('svc')
    const to = desk.subscription({
      service,
      destinations: [{ name: `${service}.dlq`, expire: 86_400_000 }, { name: `${service}.poison` }],
    })
    const transport = await desk.transport()
    await transport.subscribe(to)
    const queue = `${to.service}.${to.topic}`
    await isDeclared(queue, {
      'x-queue-type': 'quorum',
      'x-dead-letter-exchange': `${queue}.dlx`,
      'x-dead-letter-routing-key': `${service}.dlq`,
      'x-dead-letter-strategy': 'at-least-once',
      'x-overflow': 'reject-publish',
      'x-delivery-limit': 1_000_000,
    })
    await isDeclared(`${service}.dlq`, {
      'x-queue-type': 'quorum',
      'x-delivery-limit': 1_000_000,
      'x-message-ttl': 86_400_000,
    })
    await isDeclared(`${service}.poison`, { 'x-queue-type': 'quorum', 'x-delivery-limit': 1_000_000 })
    const channel = await desk.channel()
    await channel.assertExchange(`${queue}.dlx`, 'direct', { durable: true })
    await channel.assertExchange('reprieve.events', 'topic', { durable: true })
  })

  it('a queue in order has one active consumer, and one that exists without is refused', async () => {
    const to = desk.subscription({ order: 'key' })
    const transport = await desk.transport()
    await transport.subscribe(to)
    const queue = `${to.service}.${to.topic}`
    await isDeclared(queue, {
      'x-queue-type': 'quorum',
      'x-dead-letter-exchange': `${queue}.dlx`,
      'x-dead-letter-routing-key': to.destinations[0]!.name,
      'x-dead-letter-strategy': 'at-least-once',
      'x-overflow': 'reject-publish',
      'x-delivery-limit': 1_000_000,
      'x-single-active-consumer': true,
    })
    const loose = desk.subscription()
    await transport.subscribe(loose)
    const refused = transport.subscribe({ ...loose, order: 'key' })
    await expect(refused).rejects.toMatchObject({
      code: 'topology_differs',
      fix: expect.stringContaining('rules'),
    })
    await expect(refused).rejects.toThrow(
      `the queue '${loose.service}.${loose.topic}' exists with another x-single-active-consumer`,
    )
  })

  it.each(['quorum', 'classic'])(
    'what a stranger rejects in a %s queue is dead-lettered by the broker to the first destination',
    async (type) => {
      const to = desk.subscription()
      const at = new URL(url)
      at.searchParams.set('queue', type)
      const transport = await desk.transport(at.href)
      const inlet = await transport.subscribe(to)
      await inlet.close()
      const event = makeEvent()
      await transport.publish(to.topic, [event])
      const channel = await desk.channel()
      const message = await channel.get(`${to.service}.${to.topic}`)
      if (message) channel.nack(message, false, false)
      const dead = await takeOne(await transport.collect(to.destinations[0]!))
      expect(dead.parcel.event).toEqual(event)
    },
  )

  it('?queue=classic and ?exchange= are for those who need them', async () => {
    const exchange = desk.exchange('events')
    const to = desk.subscription()
    const at = new URL(url)
    at.search = `?queue=classic&exchange=${exchange}`
    const transport = await desk.transport(at.href)
    const inlet = await transport.subscribe(to)
    const queue = `${to.service}.${to.topic}`
    await isDeclared(queue, {
      'x-dead-letter-exchange': `${queue}.dlx`,
      'x-dead-letter-routing-key': to.destinations[0]!.name,
    })
    const event = makeEvent()
    const others = await desk.transport()
    await expect(others.publish(to.topic, [event])).rejects.toMatchObject({ code: 'unheard' })
    await transport.publish(to.topic, [event])
    expect((await takeOne(inlet)).parcel.event.id).toBe(event.id)
  })

  it('a pattern takes the topics below it, and not the topic it begins with', async () => {
    const beginning = uniqueName('family')
    const transport = await desk.transport()
    const inlet = await transport.subscribe(desk.subscription({ topic: `${beginning}.*` }))
    await expect(transport.publish(beginning, [makeEvent()])).rejects.toMatchObject({ code: 'unheard' })
    await transport.publish(`${beginning}.one`, [makeEvent()])
    await transport.publish(`${beginning}.one.two`, [makeEvent()])
    expect(await take(inlet, 2)).toHaveLength(2)
  })

  it('in order, a classic queue gives all to one of two consumers, and to the other when that one leaves', async () => {
    const to = desk.subscription({ order: 'key', window: 1 })
    const at = new URL(url)
    at.searchParams.set('queue', 'classic')
    const [one, two] = [await desk.transport(at.href), await desk.transport(at.href)]
    const first = await one.subscribe(to)
    const second = await two.subscribe(to)
    const events = makeEvents(4)
    await one.publish(to.topic, events)
    const mine = await takeOne(first)
    await first.settle([{ do: 'ack', delivery: mine }])
    expect(mine.parcel.event.id).toBe(events[0]!.id)
    expect(await take(second, 1, 300)).toEqual([])
    await first.close()
    for (const { id } of events.slice(1)) {
      const next = await takeOne(second)
      expect(next.parcel.event.id).toBe(id)
      await second.settle([{ do: 'ack', delivery: next }])
    }
  })

  it('a tier is shared by all, and knows no home of its own', async () => {
    const to = desk.subscription()
    const transport = await desk.transport()
    const inlet = await transport.subscribe(to)
    await transport.publish(to.topic, [makeEvent()])
    const delivery = await takeOne(inlet)
    const due = Date.now() + 90
    await inlet.settle([{ do: 'later', delivery, parcel: { ...delivery.parcel, due } }])
    await isDeclared(tierName(100), {
      'x-queue-type': 'quorum',
      'x-message-ttl': 100,
      'x-dead-letter-exchange': HOME,
      'x-dead-letter-strategy': 'at-least-once',
      'x-overflow': 'reject-publish',
    })
  })

  it('a destination with another expiry is named with what differs, and left as it is', async () => {
    const service = uniqueName('svc')
    const transport = await desk.transport()
    const one = desk.subscription({ service, destinations: [{ name: `${service}.dlq`, expire: 5000 }] })
    const two = desk.subscription({ service, destinations: [{ name: `${service}.dlq` }] })
    await transport.subscribe(one)
    const refused = transport.subscribe(two)
    await expect(refused).rejects.toMatchObject({
      code: 'topology_differs',
      fix: expect.stringContaining('delete'),
    })
    await expect(refused).rejects.toThrow(
      `the queue '${service}.dlq' exists with another x-message-ttl: asked for none, it has the value '5000'`,
    )
    await isDeclared(`${service}.dlq`, {
      'x-queue-type': 'quorum',
      'x-delivery-limit': 1_000_000,
      'x-message-ttl': 5000,
    })
  })

  it('a queue of another type, and an exchange of another type, are refused as well', async () => {
    const to = desk.subscription()
    const channel = await desk.channel()
    await channel.assertQueue(`${to.service}.${to.topic}`, { durable: true })
    const transport = await desk.transport()
    await expect(transport.subscribe(to)).rejects.toThrow(
      `the queue '${to.service}.${to.topic}' exists with another x-`,
    )
    const exchange = desk.exchange('events')
    await channel.assertExchange(exchange, 'direct', { durable: true })
    const at = new URL(url)
    at.search = `?exchange=${exchange}`
    const other = await desk.transport(at.href)
    const refused = other.publish('any', [makeEvent()])
    await expect(refused).rejects.toMatchObject({ code: 'topology_differs' })
    await expect(refused).rejects.toThrow(
      `the exchange '${exchange}' exists with another type: asked for 'topic'`,
    )
  })

  it('collect takes a destination as it finds it', async () => {
    const name = desk.queue('dlq')
    const channel = await desk.channel()
    await channel.assertQueue(name, { durable: true, messageTtl: 60_000 })
    channel.sendToQueue(name, Buffer.from('found'))
    const inlet = await (await desk.transport()).collect({ name, expire: 1000 })
    expect((await takeOne(inlet)).parcel.event.data).toEqual(Buffer.from('found'))
  })
})
