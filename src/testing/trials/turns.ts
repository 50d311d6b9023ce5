import assert from 'node:assert/strict'
import type { Delivery } from '../../contracts/transport.ts'
import { freshParcel } from '../../core/parcel.ts'
import {
  ackAll,
  type Desk,
  idsOf,
  makeEvent,
  makeEvents,
  settleAll,
  sorted,
  subscribed,
  take,
  takeSome,
  transportTrial,
} from './kit.ts'
import { failedOnce } from './samples.ts'
import type { Trial, TrialWorld } from './trial.ts'

const RETRIES = 80
const FRESH = 40

/** Taken once and given back, so that all of it lies ready, wherever it was fetched from. */
const makeReady = async (world: TrialWorld, { inlet }: Desk, count: number): Promise<void> => {
  const all = await take(world, inlet, count)
  await settleAll(
    inlet,
    all.map((delivery) => ({ do: 'give back', delivery })),
  )
}

const retriesOf = (world: TrialWorld, count: number) =>
  makeEvents(world, count).map((event) => failedOnce(world, freshParcel(event, world.now()), 0))

const isRetry = ({ parcel }: Delivery): boolean => parcel.trail.spent > 0

export const turnTrials: readonly Trial[] = [
  transportTrial(
    'fresh parcels come before retries, and retries have their share, where the adapter can',
    async (world) => {
      const desk = await subscribed(world)
      const { transport, to, inlet } = desk
      await transport.forward(to, retriesOf(world, RETRIES))
      await transport.publish(to.topic, makeEvents(world, FRESH))
      await makeReady(world, desk, RETRIES + FRESH)
      const came: Delivery[] = []
      while (came.length < RETRIES + FRESH) {
        const some = await takeSome(world, inlet, { max: 10 })
        assert.ok(some.length > 0, `${came.length} of ${RETRIES + FRESH} came`)
        came.push(...some)
        await ackAll(inlet, some)
      }
      const contested = came.slice(0, came.findLastIndex((delivery) => !isRetry(delivery)) + 1)
      const retries = contested.filter(isRetry).length
      if (transport.can.fresh) {
        assert.ok(retries <= FRESH / 4 + 2, `${retries} retries came before the last of ${FRESH} fresh ones`)
        assert.ok(retries >= FRESH / 4 - 2, `only ${retries} retries came beside ${FRESH} fresh ones`)
      } else {
        assert.ok(retries > FRESH / 2, `it can, though it says it can't: only ${retries} retries came before`)
      }
    },
  ),

  transportTrial(
    'urgent events come before all others, by their priority or their type, where the adapter can',
    async (world) => {
      const desk = await subscribed(world, { urgency: { types: ['pressing'], others: ['trial.made'] } })
      const { transport, to, inlet } = desk
      const pressing = { type: 'pressing' }
      const tried = failedOnce(world, freshParcel(makeEvent(world, pressing), world.now()), 0)
      const urgent = [
        makeEvent(world, { extensions: { priority: 'high' } }),
        makeEvent(world, { extensions: { priority: 'critical' } }),
        makeEvent(world, pressing),
      ]
      const calm = makeEvent(world, { ...pressing, extensions: { priority: 'low' } })
      await transport.publish(to.topic, makeEvents(world, FRESH))
      await transport.forward(to, retriesOf(world, 10))
      await transport.publish(to.topic, [calm, ...urgent])
      await transport.forward(to, [tried])
      await makeReady(world, desk, FRESH + 15)
      const first = await take(world, inlet, 4)
      const ids = sorted([...urgent.map(({ id }) => id), tried.event.id])
      if (transport.can.urgent) assert.deepEqual(sorted(idsOf(first)), ids)
      else assert.notDeepEqual(sorted(idsOf(first)), ids, "it can, though it says it can't")
      const rest = await take(world, inlet, FRESH + 11)
      await ackAll(inlet, [...first, ...rest])
    },
  ),
]
