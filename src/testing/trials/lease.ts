import assert from 'node:assert/strict'
import {
  ackAll,
  makeEvent,
  subscribed,
  subscribedToo,
  takeFromAny,
  takeNone,
  takeOne,
  transportTrial,
} from './kit.ts'
import { failedOnce } from './samples.ts'
import type { Trial, TrialWorld } from './trial.ts'
import { untilShared } from './work.ts'

const LEASE = 800

/** Two consumers of one subscription; one of them holds its only event. */
const held = async (world: TrialWorld) => {
  const first = await subscribed(world, { lease: LEASE })
  const second = await subscribedToo(world, first.to)
  await untilShared(world, [first, second])
  const inlets = [first.inlet, second.inlet]
  await first.transport.publish(first.to.topic, [makeEvent(world)])
  const { at, delivery } = await takeFromAny(world, inlets)
  return { can: first.transport.can, holder: inlets[at]!, other: inlets[1 - at]!, delivery }
}

export const leaseTrials: readonly Trial[] = [
  transportTrial(
    'a lease that ends hands the delivery to another; without leases it stays',
    async (world) => {
      const { can, holder, other, delivery } = await held(world)
      if (!can.lease) {
        await takeNone(world, other, LEASE * 2)
        return ackAll(holder, [delivery])
      }
      const taken = await takeOne(world, other)
      assert.equal(taken.redelivered, true)
      assert.equal(taken.parcel.event.id, delivery.parcel.event.id)
      const parcel = failedOnce(world, delivery.parcel, 0)
      assert.deepEqual(await holder.settle([{ do: 'later', delivery, parcel }]), ['lost'])
      assert.deepEqual(await holder.settle([{ do: 'ack', delivery }]), ['lost'])
      await ackAll(other, [taken])
      await takeNone(world, other, LEASE * 2)
      await takeNone(world, holder)
    },
  ),

  transportTrial('within its lease nobody else gets it', async (world) => {
    const { holder, other, delivery } = await held(world)
    await takeNone(world, other, LEASE / 4)
    await ackAll(holder, [delivery])
    await takeNone(world, other, LEASE * 1.5)
  }),

  transportTrial('extend keeps a delivery ours', async (world) => {
    const { holder, other, delivery } = await held(world)
    for (let round = 0; round < 3; round++) {
      await holder.extend([delivery], world.now() + LEASE)
      await takeNone(world, other, LEASE * 0.6)
    }
    await ackAll(holder, [delivery])
  }),

  transportTrial('extend of what is settled changes nothing', async (world) => {
    const { holder, other, delivery } = await held(world)
    await ackAll(holder, [delivery])
    await holder.extend([delivery], world.now() + LEASE)
    await takeNone(world, other, LEASE * 1.5)
  }),
]
