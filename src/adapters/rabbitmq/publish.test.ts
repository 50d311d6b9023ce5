import { expect, it } from 'vitest'
import {
  deskAt,
  idsOf,
  makeEvent,
  makeEvents,
  take,
  takeOne,
  uniqueName,
} from '../../../test/rabbitmq/desk.ts'
import { describeWith } from '../../../test/services/urls.ts'
import { MAX_DATA_BYTES } from '../../core/event.ts'
import { freshParcel } from '../../core/parcel.ts'

describeWith('amqp', 'publishing to RabbitMQ', (url) => {
  const desk = deskAt(url)

  it('where nobody is subscribed it is refused, with the topic and how to mend it', async () => {
    const transport = await desk.transport()
    const topic = uniqueName('nowhere')
    const refused = transport.publish(topic, makeEvents(3))
    await expect(refused).rejects.toMatchObject({ code: 'unheard', fix: expect.stringContaining('handler') })
    await expect(refused).rejects.toThrow(topic)
  })

  it('a refused topic disturbs nobody else who publishes at that moment', async () => {
    const transport = await desk.transport()
    const to = desk.subscription()
    const inlet = await transport.subscribe(to)
    const events = makeEvents(50)
    const nowhere = uniqueName('nowhere')
    // the same ids on both topics: what comes back must not be taken for what was kept
    const outcomes = await Promise.allSettled(
      events.flatMap((event) => [transport.publish(to.topic, [event]), transport.publish(nowhere, [event])]),
    )
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(50)
    expect(idsOf(await take(inlet, 50))).toEqual(events.map(({ id }) => id).sort())
  })

  it('the largest event is carried whole', async () => {
    const transport = await desk.transport()
    const to = desk.subscription()
    const inlet = await transport.subscribe(to)
    const event = makeEvent({ data: Buffer.alloc(MAX_DATA_BYTES, 'x') })
    await transport.publish(to.topic, [event, makeEvent()])
    const [large] = await take(inlet, 2)
    expect(large!.parcel.event.data!.byteLength).toBe(MAX_DATA_BYTES)
    expect(Buffer.compare(large!.parcel.event.data!, event.data!)).toBe(0)
  })

  it('a batch larger than the buffer goes out in one wait', async () => {
    const transport = await desk.transport()
    const to = desk.subscription({ window: 1000 })
    const inlet = await transport.subscribe(to)
    const events = makeEvents(3000)
    const { waits } = transport.counts
    await transport.publish(to.topic, events)
    expect(transport.counts.waits - waits).toBe(1)
    const ids: string[] = []
    while (ids.length < 3000) {
      const some = await take(inlet, 500)
      ids.push(...some.map(({ parcel }) => parcel.event.id))
      await inlet.settle(some.map((delivery) => ({ do: 'ack', delivery })))
    }
    expect(ids).toEqual(events.map(({ id }) => id))
  })

  it('forward to a missing subscription is refused, also where it would only come home later', async () => {
    const transport = await desk.transport()
    const to = { service: uniqueName('svc'), topic: 'none', consumerGroup: 'none' }
    for (const wait of [0, 60_000]) {
      const refused = transport.forward(to, [freshParcel(makeEvent(), Date.now() + wait)])
      await expect(refused).rejects.toMatchObject({ code: 'unknown_subscription' })
      await expect(refused).rejects.toThrow(`${to.service}.none`)
    }
  })

  it('the deletion of its exchange ends nothing: it is declared again', async () => {
    const exchange = desk.exchange('events')
    const at = new URL(url)
    at.search = `?exchange=${exchange}`
    const transport = await desk.transport(at.href)
    const to = desk.subscription()
    const inlet = await transport.subscribe(to)
    await transport.publish(to.topic, [makeEvent()])
    await (await desk.channel()).deleteExchange(exchange)
    await expect(transport.publish(to.topic, [makeEvent()])).rejects.toMatchObject({ code: 'unavailable' })
    await expect(transport.publish(to.topic, [makeEvent()])).rejects.toMatchObject({ code: 'unheard' })
    expect(await takeOne(inlet)).toBeDefined()
  })
})
