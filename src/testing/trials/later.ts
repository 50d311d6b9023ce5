import assert from 'node:assert/strict'
import type { Delivery, Inlet } from '../../contracts/transport.ts'
import type { Instant, Millis } from '../../core/time.ts'
import {
  ackAll,
  idsOf,
  makeEvent,
  makeEvents,
  settleAll,
  sorted,
  subscribed,
  subscribedToo,
  take,
  takeNone,
  takeOne,
  transportTrial,
} from './kit.ts'
import { failedOnce, sameEvent } from './samples.ts'
import { notLater } from './too-late.ts'
import type { Trial, TrialWorld } from './trial.ts'

/** One delivery and the exact moment of its handing-over. */
export const takeTimed = async (
  world: TrialWorld,
  inlet: Inlet,
): Promise<{ readonly delivery: Delivery; readonly at: Instant }> => {
  const stop = new AbortController()
  let at = Number.NaN
  const receiving = inlet.receive(1, stop.signal).then((got) => {
    at = world.now()
    return got
  })
  await world.wait(world.patience, receiving)
  stop.abort()
  const [delivery] = await receiving
  assert.ok(delivery, `nothing came within ${world.patience} ms`)
  return { delivery, at }
}

/** Never early; late by no more than the adapter says and the machine needs. */
export const onTime = (at: Instant, due: Instant, late: Millis, slack: Millis): void => {
  assert.ok(at >= due, `came ${due - at} ms early`)
  notLater(at - due, late + slack, `came ${at - due} ms late, where ${late} are declared`)
}

const laterBy = (wait: Millis): Trial =>
  transportTrial(`later by ${wait} ms: not early, and no later than declared`, async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    await transport.publish(to.topic, [makeEvent(world)])
    const delivery = await takeOne(world, inlet)
    const parcel = failedOnce(world, delivery.parcel, wait)
    await settleAll(inlet, [{ do: 'later', delivery, parcel }])
    const again = await takeTimed(world, inlet)
    onTime(again.at, parcel.due, transport.can.late(wait), world.slack)
    await ackAll(inlet, [again.delivery])
    await takeNone(world, inlet)
  })

export const laterTrials: readonly Trial[] = [
  laterBy(50),
  laterBy(300),
  laterBy(1000),
  laterBy(2000),

  transportTrial('short waits are not held up by long ones', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    const waits = [3000, 1500, 300, 1000, 600]
    await transport.publish(to.topic, makeEvents(world, waits.length))
    const got = await take(world, inlet, waits.length)
    const due = new Map<string, { due: Instant; wait: Millis }>()
    const batch = got.map((delivery, n) => {
      const parcel = failedOnce(world, delivery.parcel, waits[n]!)
      due.set(parcel.event.id, { due: parcel.due, wait: waits[n]! })
      return { do: 'later', delivery, parcel } as const
    })
    await settleAll(inlet, batch)
    for (let n = 0; n < waits.length; n++) {
      const { delivery, at } = await takeTimed(world, inlet)
      const promised = due.get(delivery.parcel.event.id)!
      onTime(at, promised.due, transport.can.late(promised.wait), world.slack)
      await ackAll(inlet, [delivery])
    }
  }),

  transportTrial('later keeps the event, its trail and its due time', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    const event = makeEvent(world, {
      subject: 'später',
      extensions: { correlationid: 'c-1', orderkey: 'k-1', priority: 'high' },
      headers: { 'x-tenant': 'ann & co' },
      data: Buffer.from([0, 255, 1, 254]),
      datacontenttype: 'application/octet-stream',
    })
    await transport.publish(to.topic, [event])
    let delivery = await takeOne(world, inlet)
    for (let spent = 1; spent <= 3; spent++) {
      const parcel = failedOnce(world, delivery.parcel, 20)
      await settleAll(inlet, [{ do: 'later', delivery, parcel }])
      delivery = await takeOne(world, inlet)
      sameEvent(delivery.parcel.event, event)
      assert.deepEqual(delivery.parcel.trail, parcel.trail)
      assert.equal(delivery.parcel.trail.spent, spent)
      assert.equal(delivery.parcel.due, parcel.due)
    }
  }),

  transportTrial('later may bring another trail with no attempt spent', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    await transport.publish(to.topic, [makeEvent(world)])
    const delivery = await takeOne(world, inlet)
    const replay = { letter: 'l-1', attempt: 2, receiptTo: 'somewhere' }
    const parcel = { ...delivery.parcel, trail: { ...delivery.parcel.trail, generation: 2, replay } }
    await settleAll(inlet, [{ do: 'later', delivery, parcel }])
    assert.deepEqual((await takeOne(world, inlet)).parcel.trail, parcel.trail)
  }),

  transportTrial('later with a due time in the past comes at once', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    await transport.publish(to.topic, [makeEvent(world)])
    const delivery = await takeOne(world, inlet)
    const before = world.now()
    const parcel = failedOnce(world, delivery.parcel, -60_000)
    await settleAll(inlet, [{ do: 'later', delivery, parcel }])
    const { at } = await takeTimed(world, inlet)
    notLater(at - before, transport.can.late(0) + world.slack, `it took ${at - before} ms`)
  }),

  transportTrial('what waits outlives the connection', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    await transport.publish(to.topic, [makeEvent(world)])
    const delivery = await takeOne(world, inlet)
    const parcel = failedOnce(world, delivery.parcel, 600)
    await settleAll(inlet, [{ do: 'later', delivery, parcel }])
    await transport.close()
    const back = await subscribedToo(world, to)
    const again = await takeTimed(world, back.inlet)
    assert.deepEqual(again.delivery.parcel.trail, parcel.trail)
    assert.ok(again.at >= parcel.due, `came ${parcel.due - again.at} ms early`)
  }),

  transportTrial('later goes to the subscription it came from only', async (world) => {
    const one = await subscribed(world)
    const two = await subscribed(world, { topic: one.to.topic })
    await one.transport.publish(one.to.topic, [makeEvent(world)])
    await ackAll(two.inlet, [await takeOne(world, two.inlet)])
    const delivery = await takeOne(world, one.inlet)
    const parcel = failedOnce(world, delivery.parcel, 0)
    await settleAll(one.inlet, [{ do: 'later', delivery, parcel }])
    await takeOne(world, one.inlet)
    await takeNone(world, two.inlet)
  }),

  transportTrial('one that fails again and again does not hold up the rest', async (world) => {
    const { transport, to, inlet } = await subscribed(world, { window: 5 })
    const [poison, ...rest] = makeEvents(world, 21)
    await transport.publish(to.topic, [poison!])
    let failing = await takeOne(world, inlet)
    await transport.publish(to.topic, rest)
    const got: Delivery[] = []
    let failures = 0
    const putOff = async () => {
      failures++
      const parcel = failedOnce(world, failing.parcel, 100)
      await settleAll(inlet, [{ do: 'later', delivery: failing, parcel }])
    }
    await putOff()
    while (got.length < 20 || failures < 4) {
      const delivery = await takeOne(world, inlet)
      if (delivery.parcel.event.id === poison!.id) {
        failing = delivery
        if (failures < 4) await putOff()
      } else {
        got.push(delivery)
        await ackAll(inlet, [delivery])
      }
    }
    assert.deepEqual(sorted(idsOf(got)), sorted(rest.map(({ id }) => id)))
  }),
]
