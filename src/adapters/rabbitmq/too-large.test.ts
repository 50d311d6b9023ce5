import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { deskAt, idsOf, makeEvent, take, takeOne } from '../../../test/rabbitmq/desk.ts'
import { describeOwnBroker, type OwnBroker, ownBroker } from '../../../test/rabbitmq/own-broker.ts'
import type { Delivery, Settlement, Subscription } from '../../contracts/transport.ts'
import type { Event } from '../../core/event.ts'
import type { Failure } from '../../core/failure.ts'
import { writeLetter } from '../../core/letter.ts'
import { freshParcel } from '../../core/parcel.ts'
import { redactLetter } from '../../core/redact.ts'
import { extendTrail } from '../../core/trail.ts'

/** What the broker takes, in bytes. */
const LIMIT = 50_000

const failure: Failure = {
  category: 'permanent',
  kind: 'business',
  name: 'Error',
  message: 'no such order',
  because: 'a test',
}

const burial = (delivery: Delivery, to: Subscription, destination = to.destinations[0]!.name) => {
  const death = { reason: 'permanent', failure, at: 1_790_000_000_000, limit: 5, fingerprint: 'f' } as const
  const letter = writeLetter(delivery.parcel, { ...to, transport: 'rabbitmq' }, destination, death)
  return { do: 'bury', delivery, to: destination, letter } as const
}

const retry = (delivery: Delivery): Settlement => {
  const { event, trail } = delivery.parcel
  return { do: 'later', delivery, parcel: { event, trail: extendTrail(trail, failure, Date.now()), due: 0 } }
}

const weighing = (bytes: number, over: Partial<Event> = {}): Event =>
  makeEvent({ datacontenttype: 'application/octet-stream', data: randomBytes(bytes), ...over })

describeOwnBroker('what is larger than RabbitMQ takes', () => {
  let own: OwnBroker
  const desk = deskAt(() => own.url)

  beforeAll(async () => {
    own = await ownBroker([`max_message_size = ${LIMIT}`])
  })
  afterAll(() => own?.close())

  const opened = async () => {
    const to = desk.subscription()
    const transport = await desk.transport()
    return { to, transport, inlet: await transport.subscribe(to) }
  }
  const troubles = (since: number) =>
    desk.facts.slice(since).flatMap((fact) => (fact.is === 'trouble' ? [fact] : []))

  it('is refused with its size, the limit and the fix; known once, it takes nobody with it', async () => {
    const { to, transport, inlet } = await opened()
    const refused = {
      code: 'bad_event',
      message: expect.stringMatching(new RegExp(`${LIMIT + 1} bytes .* ${LIMIT} bytes`)),
      fix: expect.stringContaining('max_message_size'),
    }
    const large = () => transport.publish(to.topic, [weighing(LIMIT + 1)])
    await expect(large()).rejects.toMatchObject(refused)
    const small = Array.from({ length: 20 }, () => makeEvent())
    const answers = await Promise.allSettled([
      large(),
      ...small.map((event) => transport.publish(to.topic, [event])),
      large(),
      transport.forward(to, [freshParcel(weighing(LIMIT + 1), 0)]),
      transport.publish(to.topic, [weighing(LIMIT, { id: 'fits' })]),
    ])
    expect(answers.map(({ status }) => status)).toEqual([
      'rejected',
      ...small.map(() => 'fulfilled'),
      'rejected',
      'rejected',
      'fulfilled',
    ])
    expect(idsOf(await take(inlet, 21))).toEqual([...small.map(({ id }) => id), 'fits'].sort())
    await transport.close()
  })

  it('as a letter or a retry, it is refused and stays ours; who fell with it is settled by another try', async () => {
    const { to, transport, inlet } = await opened()
    await transport.publish(to.topic, [
      weighing(40_000),
      makeEvent(),
      makeEvent({ id: 'aside' }),
      makeEvent(),
    ])
    const [one, beside, aside, plain] = (await take(inlet, 4)) as [Delivery, Delivery, Delivery, Delivery]
    const refused = expect.objectContaining({ code: 'bad_event' })
    const ack = { do: 'ack', delivery: plain } as const
    const fell = expect.objectContaining({ code: 'unavailable' })
    const all = [burial(one, to), burial(beside, to), retry(aside), ack]
    expect(await inlet.settle(all)).toEqual([refused, fell, 'done', 'done'])
    expect(await inlet.settle([burial(one, to), burial(beside, to)])).toEqual([refused, 'done'])
    expect(await inlet.settle([{ do: 'give back', delivery: one }])).toEqual(['done'])
    expect(idsOf(await take(inlet, 2))).toEqual(idsOf([one, aside]))
    await transport.close()
  })

  const unreadable = async (to: Subscription, body: Buffer) => {
    const channel = await desk.channel()
    const options = { contentType: 'application/cloudevents+json', messageId: 'no-json' }
    channel.sendToQueue(`${to.service}.${to.topic}`, body, options)
  }

  it('as a letter of what can not be read: the broker itself buries the message as it is, and that is told', async () => {
    const { to, transport, inlet } = await opened()
    const body = randomBytes(40_000)
    await unreadable(to, body)
    const delivery = await takeOne(inlet)
    expect(delivery.broken).toBeDefined()
    const seen = desk.facts.length
    expect(await inlet.settle([burial(delivery, to, to.destinations[1]!.name)])).toEqual(['done'])
    const letter = await takeOne(await transport.collect(to.destinations[0]!))
    expect(letter).toMatchObject({ found: { reason: 'rejected', topic: `${to.service}.${to.topic}` } })
    expect(letter.parcel.event).toMatchObject({ id: 'no-json', data: body })
    const [fact] = troubles(seen)
    expect(fact).toMatchObject({ about: { service: to.service, topic: to.topic, event: 'no-json' } })
    expect(fact!.error.message).toContain(`to '${to.destinations[0]!.name}'`)
    await transport.close()
  })

  it('as a letter of which something was taken out: what is left of the event is buried in its place', async () => {
    const { to, transport, inlet } = await opened()
    const body = randomBytes(40_000)
    const channel = await desk.channel()
    channel.sendToQueue(`${to.service}.${to.topic}`, body, {
      contentType: 'application/cloudevents+json',
      messageId: 'no-json',
      headers: { tenant: 'a', authorization: 's3cret' },
    })
    const delivery = await takeOne(inlet)
    const { letter, ...whole } = burial(delivery, to, to.destinations[1]!.name)
    const redacted = redactLetter(letter, [{ paths: [], headers: ['authorization'] }])
    const seen = desk.facts.length
    expect(await inlet.settle([{ ...whole, letter: redacted }])).toEqual(['done'])
    const found = await takeOne(await transport.collect(to.destinations[1]!))
    expect(found.broken).toBe(letter.error)
    expect(found.found).toBeDefined()
    expect(found.parcel.event).toMatchObject({
      id: 'no-json',
      data: body,
      headers: { tenant: 'a', authorization: '[redacted]' },
    })
    const [fact] = troubles(seen)
    expect(fact).toMatchObject({ about: { service: to.service, topic: to.topic, event: 'no-json' } })
    expect(await take(inlet, 1, 300)).toEqual([])
    await transport.close()
  })
})
