import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { deskAt, idsOf, makeEvent, take, takeOne } from '../../../test/rabbitmq/desk.ts'
import { describeOwnBroker, type OwnBroker, ownBroker } from '../../../test/rabbitmq/own-broker.ts'
import type { Delivery, Settlement, Subscription } from '../../contracts/transport.ts'
import type { Event } from '../../core/event.ts'
import type { Failure } from '../../core/failure.ts'
import { writeLetter } from '../../core/letter.ts'
import { freshParcel } from '../../core/parcel.ts'
import { extendTrail } from '../../core/trail.ts'

/** What the broker takes, in bytes. */
const LIMIT = 50_000
const LOWERED = 20_000

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

  it('as a letter: the broker itself buries the message as it is, and the error it died of is told', async () => {
    const { to, transport, inlet } = await opened()
    const big = weighing(40_000, { id: 'big' })
    await transport.publish(to.topic, [big, makeEvent({ id: 'beside' }), makeEvent({ id: 'plain' })])
    const [one, beside, plain] = (await take(inlet, 3)) as [Delivery, Delivery, Delivery]
    const seen = desk.facts.length
    const settled = await inlet.settle([
      burial(one, to, to.destinations[1]!.name),
      retry(beside),
      { do: 'ack', delivery: plain },
    ])
    expect(settled).toEqual(['done', expect.objectContaining({ code: 'unavailable' }), 'done'])
    expect(await inlet.settle([retry(beside)])).toEqual(['done'])
    const office = await transport.collect(to.destinations[0]!)
    const letter = await takeOne(office)
    expect(letter).toMatchObject({ found: { reason: 'rejected', topic: `${to.service}.${to.topic}` } })
    expect(letter.parcel.event).toEqual(big)
    const [fact] = troubles(seen)
    expect(fact).toMatchObject({ about: { service: to.service, topic: to.topic, event: 'big' } })
    expect(fact!.error.message).toMatch(/no such order/)
    expect(fact!.error.message).toContain(to.destinations[0]!.name)
    expect((await take(inlet, 2, 500)).map(({ parcel }) => parcel.event.id)).toEqual(['beside'])
    await transport.close()
  })

  it('as a letter of which something was taken out, it stays where it is: its message would show it', async () => {
    const { to, transport, inlet } = await opened()
    await transport.publish(to.topic, [weighing(40_000)])
    const delivery = await takeOne(inlet)
    const whole = burial(delivery, to)
    const redacted: Settlement = { ...whole, letter: { ...whole.letter, redacted: { at: ['$.card'] } } }
    expect(await inlet.settle([redacted])).toEqual([expect.objectContaining({ code: 'bad_event' })])
    expect(await inlet.settle([{ do: 'give back', delivery }])).toEqual(['done'])
    expect(await takeOne(inlet)).toMatchObject({ redelivered: true })
    await transport.close()
  })

  it('as a retry, for the limit was lowered: it is buried as it is, and what only waits stays', async () => {
    const { to, transport } = await opened()
    await transport.publish(to.topic, [weighing(40_000, { id: 'failed' }), weighing(40_000, { id: 'held' })])
    await transport.close()
    await own.control('eval', `application:set_env(rabbit, max_message_size, ${LOWERED}).`)
    try {
      const later = await desk.transport()
      const inlet = await later.subscribe(to)
      const [failed, held] = (await take(inlet, 2)) as [Delivery, Delivery]
      const seen = desk.facts.length
      const hold: Settlement = { do: 'later', delivery: held, parcel: held.parcel }
      expect(await inlet.settle([hold])).toEqual([expect.objectContaining({ code: 'bad_event' })])
      expect(await inlet.settle([retry(failed)])).toEqual(['done'])
      const letter = await takeOne(await later.collect(to.destinations[0]!))
      expect(letter.parcel.event).toEqual(failed.parcel.event)
      expect(troubles(seen).at(-1)!.error.message).toMatch(/no such order/)
      await later.close()
    } finally {
      await own.control('eval', `application:set_env(rabbit, max_message_size, ${LIMIT}).`)
    }
  })
})
