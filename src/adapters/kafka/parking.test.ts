import { expect, it } from 'vitest'
import { kafkaBench } from '../../../test/kafka/bench.ts'
import { makeTopic } from '../../../test/kafka/make-topic.ts'
import { describeWith } from '../../../test/services/urls.ts'
import { ackAll, makeEvents, makeSubscription, take, takeNone, takeOne } from '../../testing/trials/kit.ts'
import { MOST_SPAN } from './tenure.ts'

describeWith('kafka', 'a stuck record on kafka', (brokers) => {
  const { world, openOne, committed, facts, admin } = kafkaBench(brokers)

  it('moves to a retry topic when thousands have passed it, so that commits go on', async () => {
    const transport = await openOne()
    const to = makeSubscription(world, { window: 500 })
    const inlet = await transport.subscribe(to)
    const events = makeEvents(world, 5_300, { extensions: { orderkey: 'k' } })
    await transport.publish(to.topic, events)
    const stuck = await takeOne(world, inlet)
    for (let seen = 1; seen < events.length; ) {
      const got = await take(world, inlet, Math.min(400, events.length - seen))
      await ackAll(inlet, got)
      seen += got.length
    }
    const offset = async () =>
      Math.max(...(await committed(to.consumerGroup, to.topic)).map((each) => each.offset))
    for (let n = 0; n < 100 && (await offset()) < events.length; n++) await world.wait(100)
    expect(await offset()).toBe(events.length)
    expect(await inlet.settle([{ do: 'ack', delivery: stuck }])).toEqual(['lost'])
    const copy = await takeOne(world, inlet)
    expect(copy.parcel.event.id).toBe(stuck.parcel.event.id)
    expect(copy.parcel.trail).toEqual(stuck.parcel.trail)
    expect(copy.redelivered).toBe(true)
    await ackAll(inlet, [copy])
    await takeNone(world, inlet)
    expect(facts.some((fact) => fact.is === 'notice' && /is stuck/.test(fact.text))).toBe(true)
  })

  it.each([
    { whose: 'ours', foreign: false },
    { whose: "someone else's", foreign: true },
  ])('that the office can not keep stops nothing behind it in a destination, $whose', async ({ foreign }) => {
    const transport = await openOne()
    const name = world.name('graves')
    await makeTopic(admin, name)
    const inlet = await transport.collect({ name, foreign })
    const events = makeEvents(world, 2 * MOST_SPAN)
    await transport.publish(name, events)
    const refused = await takeOne(world, inlet)
    for (let seen = 1; seen < events.length; ) {
      const got = await take(world, inlet, Math.min(400, events.length - seen))
      await ackAll(inlet, got)
      seen += got.length
    }
    const group = `reprieve-office.${name}`
    const [before] = await committed(group, name)
    expect(before).toMatchObject({ offset: 0, mark: { done: [[1, events.length - 1]] } })
    await ackAll(inlet, [refused])
    const [after] = await committed(group, name)
    expect(after?.offset).toBe(events.length)
    await inlet.close()
  })
})
