import { expect, it } from 'vitest'
import { deskAt, makeEvent, take, takeOne } from '../../../test/rabbitmq/desk.ts'
import { describeWith } from '../../../test/services/urls.ts'
import type { Inlet } from '../../contracts/transport.ts'
import { freshParcel } from '../../core/parcel.ts'
import { encodeTrail, freshTrail } from '../../core/trail.ts'
import { DUE, TRAIL } from './headers.ts'
import { tierFor, tierName } from './names.ts'
import { writeParcel } from './write.ts'

/** How long a busy machine may take over what is promised. */
const SLACK = 4000

describeWith('amqp', 'waiting on RabbitMQ', (url) => {
  const desk = deskAt(url)

  it('waits of many lengths at once come home in time, never early, and to their own queue', async () => {
    const transport = await desk.transport()
    const [one, two] = [desk.subscription(), desk.subscription()]
    const inlets = [await transport.subscribe(one), await transport.subscribe(two)]
    const waits = [1, 60, 100, 180, 300, 700, 1200]
    const start = Date.now()
    const parcels = waits.map((wait) => freshParcel(makeEvent({ subject: String(wait) }), start + wait))
    await transport.forward(one, parcels)
    await transport.forward(two, parcels)
    const takeAll = async (inlet: Inlet) => {
      const got = new Set<string>()
      while (got.size < waits.length) {
        const { parcel } = await takeOne(inlet)
        const late = Date.now() - parcel.due
        const wait = Number(parcel.event.subject)
        expect(late).toBeGreaterThanOrEqual(0)
        expect(late).toBeLessThanOrEqual(transport.can.late(wait) + SLACK)
        got.add(parcel.event.id)
      }
      expect(await take(inlet, 1, 200)).toEqual([])
    }
    await Promise.all(inlets.map(takeAll))
  })

  it('a parcel that is home before its time waits again, and is not handed over', async () => {
    const transport = await desk.transport()
    const to = desk.subscription()
    const inlet = await transport.subscribe(to)
    const event = makeEvent()
    // not before both are there, on a busy machine too: else it is home in time, and may come first
    const due = Date.now() + 3000
    const { body, options } = writeParcel(freshParcel(event, due), { exchange: '', key: '' })
    expect(options.headers).toMatchObject({ [DUE]: String(due), [TRAIL]: encodeTrail(freshTrail) })
    const channel = await desk.channel()
    channel.sendToQueue(`${to.service}.${to.topic}`, body, options)
    await transport.publish(to.topic, [makeEvent({ id: 'meanwhile' })])
    // asked for one at a time: the early one must not hide the one behind it
    await expect.poll(async () => (await inlet.lag()).waiting).toBe(2)
    expect((await takeOne(inlet)).parcel.event.id).toBe('meanwhile')
    const { parcel } = await takeOne(inlet)
    expect(Date.now()).toBeGreaterThanOrEqual(due)
    expect(parcel).toEqual({ event, trail: freshTrail, due })
  })

  it('what waits is not counted as lag', async () => {
    const transport = await desk.transport()
    const to = desk.subscription({ window: 2 })
    const inlet = await transport.subscribe(to)
    await transport.forward(to, [freshParcel(makeEvent(), Date.now() + 60_000)])
    await transport.publish(to.topic, [makeEvent(), makeEvent(), makeEvent(), makeEvent(), makeEvent()])
    await expect.poll(() => inlet.lag()).toEqual({ waiting: 5 })
    await take(inlet, 1)
    await expect.poll(() => inlet.lag()).toEqual({ waiting: 4 })
  })

  it('a tier that someone deleted is declared again', async () => {
    const transport = await desk.transport()
    const to = desk.subscription()
    const inlet = await transport.subscribe(to)
    const channel = await desk.channel()
    // nobody else's test waits for half an hour
    const wait = 1_790_000
    const send = () => transport.forward(to, [freshParcel(makeEvent(), Date.now() + wait)])
    await send()
    await channel.deleteQueue(tierName(tierFor(wait)))
    await expect(send()).rejects.toMatchObject({ code: 'unavailable' })
    await send()
    await channel.deleteExchange(tierName(tierFor(wait)))
    await expect(send()).rejects.toMatchObject({ code: 'unavailable' })
    await send()
    await channel.purgeQueue(tierName(tierFor(wait)))
    expect(await take(inlet, 1, 100)).toEqual([])
  })
})
