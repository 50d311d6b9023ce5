import assert from 'node:assert/strict'
import type { Delivery } from '../../contracts/transport.ts'
import type { Claim } from '../../core/ledger.ts'
import { freshParcel } from '../../core/parcel.ts'
import {
  ackAll,
  type Desk,
  makeEvent,
  settleAll,
  subscribed,
  subscribedToo,
  take,
  takeOne,
  transportTrial,
} from './kit.ts'
import { burial, failedOnce, keyOf } from './samples.ts'
import type { Trial, TrialWorld } from './trial.ts'

const claimTrial = (name: string, run: Trial['run']): Trial =>
  transportTrial(name, run, ({ claims }) =>
    claims ? undefined : 'its deliveries bring no claim: the ledger is kept elsewhere',
  )

const claiming = (world: TrialWorld, lease = 30_000): Promise<Desk> => {
  const service = world.name('service')
  return subscribed(world, { service, lease, ledgerKey: (parcel) => keyOf(service, parcel) })
}

const freshOf = ({ claim }: Delivery): Extract<Claim, { is: 'fresh' }> => {
  assert.equal(claim?.is, 'fresh')
  return claim as Extract<Claim, { is: 'fresh' }>
}

const kinds = (deliveries: readonly Delivery[]) => deliveries.map(({ claim }) => claim?.is)

export const claimTrials: readonly Trial[] = [
  transportTrial(
    'deliveries bring the claim that was asked for, where the adapter keeps claims',
    async (world) => {
      const { transport, to, inlet } = await claiming(world)
      await transport.publish(to.topic, [makeEvent(world)])
      const delivery = await takeOne(world, inlet)
      if (!transport.can.claims) return assert.equal(delivery.claim, undefined)
      const { held, crashes } = freshOf(delivery)
      assert.deepEqual(held.key, keyOf(to.service, delivery.parcel))
      assert.equal(crashes, 0)
      await ackAll(inlet, [delivery])
    },
  ),

  claimTrial('where no claim is asked for there is none', async (world) => {
    const { transport, to, inlet } = await subscribed(world, { ledgerKey: () => undefined })
    await transport.publish(to.topic, [makeEvent(world)])
    const delivery = await takeOne(world, inlet)
    assert.equal(delivery.claim, undefined)
    await ackAll(inlet, [delivery])
  }),

  claimTrial('whether a claim is needed may hang on redelivery', async (world) => {
    const service = world.name('service')
    const { transport, to, inlet } = await subscribed(world, {
      service,
      ledgerKey: (parcel, redelivered) => (redelivered ? keyOf(service, parcel) : undefined),
    })
    await transport.publish(to.topic, [makeEvent(world)])
    const first = await takeOne(world, inlet)
    assert.equal(first.claim, undefined)
    await settleAll(inlet, [{ do: 'give back', delivery: first }])
    freshOf(await takeOne(world, inlet))
  }),

  claimTrial('after ack a second copy is done', async (world) => {
    const { transport, to, inlet } = await claiming(world)
    const event = makeEvent(world)
    await transport.publish(to.topic, [event])
    await ackAll(inlet, [await takeOne(world, inlet)])
    await transport.publish(to.topic, [event])
    const second = await takeOne(world, inlet)
    assert.equal(second.claim?.is, 'done')
    await ackAll(inlet, [second])
  }),

  claimTrial('while one copy is held the other is busy', async (world) => {
    const { transport, to, inlet } = await claiming(world)
    const event = makeEvent(world)
    await transport.publish(to.topic, [event, event])
    const [first, second] = await take(world, inlet, 2)
    assert.deepEqual(kinds([first!, second!]), ['fresh', 'busy'])
    // Put off with no attempt spent, it asks again once the first is over.
    await settleAll(inlet, [
      { do: 'later', delivery: second!, parcel: { ...second!.parcel, due: world.now() + 50 } },
      { do: 'ack', delivery: first! },
    ])
    assert.equal((await takeOne(world, inlet)).claim?.is, 'done')
  }),

  claimTrial('a retry claims its next attempt; a copy of the spent one is stale', async (world) => {
    const { transport, to, inlet } = await claiming(world)
    const event = makeEvent(world)
    await transport.publish(to.topic, [event])
    const first = await takeOne(world, inlet)
    const parcel = failedOnce(world, first.parcel, 0)
    await settleAll(inlet, [{ do: 'later', delivery: first, parcel }])
    const retry = await takeOne(world, inlet)
    assert.equal(freshOf(retry).held.key.attempt, 2)
    assert.ok(freshOf(retry).held.token > freshOf(first).held.token)
    await transport.publish(to.topic, [event])
    const copy = await takeOne(world, inlet)
    assert.equal(copy.claim?.is, 'stale')
    await ackAll(inlet, [copy, retry])
  }),

  claimTrial('put off with no attempt spent, the same attempt is fresh again', async (world) => {
    const { transport, to, inlet } = await claiming(world)
    await transport.publish(to.topic, [makeEvent(world)])
    const first = await takeOne(world, inlet)
    const parcel = { ...first.parcel, due: world.now() }
    await settleAll(inlet, [{ do: 'later', delivery: first, parcel }])
    const { held, crashes } = freshOf(await takeOne(world, inlet))
    assert.deepEqual({ attempt: held.key.attempt, crashes }, { attempt: 1, crashes: 0 })
  }),

  claimTrial('the same id with other data is a conflict', async (world) => {
    const { transport, to, inlet } = await claiming(world)
    const event = makeEvent(world)
    await transport.publish(to.topic, [event])
    const first = await takeOne(world, inlet)
    await transport.publish(to.topic, [{ ...event, data: Buffer.from('"other"') }])
    const other = await takeOne(world, inlet)
    assert.equal(other.claim?.is, 'conflict')
    await ackAll(inlet, [first, other])
  }),

  claimTrial('given back or closed over, it is free for the next, and no crash', async (world) => {
    const { transport, to, inlet } = await claiming(world)
    await transport.publish(to.topic, [makeEvent(world)])
    const first = await takeOne(world, inlet)
    await settleAll(inlet, [{ do: 'give back', delivery: first }])
    const second = await takeOne(world, inlet)
    assert.equal(freshOf(second).crashes, 0)
    await transport.close()
    const back = await subscribedToo(world, to)
    assert.equal(freshOf(await takeOne(world, back.inlet)).crashes, 0)
  }),

  claimTrial(
    'a claim that was never released counts as a crash, a suspect only if it was begun',
    async (world) => {
      const { opened, transport, to, inlet } = await claiming(world, 500)
      const { ledger } = opened.store!
      await transport.publish(to.topic, [makeEvent(world)])
      const first = await takeOne(world, inlet)
      const second = await takeOne(world, inlet)
      assert.equal(second.redelivered, true)
      assert.equal(freshOf(second).crashes, 1)
      assert.ok(freshOf(second).held.token > freshOf(first).held.token)
      const third = await takeOne(world, inlet)
      assert.equal(freshOf(third).crashes, 1)
      await settleAll(inlet, [{ do: 'give back', delivery: third }])
      const fourth = await takeOne(world, inlet)
      assert.equal(freshOf(fourth).crashes, 1)
      assert.equal(await ledger.begin(freshOf(third).held), false)
      assert.equal(await ledger.begin(freshOf(fourth).held), true)
      const fifth = await takeOne(world, inlet)
      assert.equal(freshOf(fifth).crashes, 2)
      assert.deepEqual(await inlet.settle([{ do: 'ack', delivery: first }]), ['lost'])
      await ackAll(inlet, [fifth])
    },
  ),

  claimTrial('extend keeps the claim as well', async (world) => {
    const { transport, to, inlet } = await claiming(world, 500)
    const event = makeEvent(world)
    await transport.publish(to.topic, [event])
    const first = await takeOne(world, inlet)
    await inlet.extend([first], world.now() + 3000)
    await world.wait(1000)
    await transport.publish(to.topic, [event])
    const second = await takeOne(world, inlet)
    assert.equal(second.claim?.is, 'busy')
    await ackAll(inlet, [first])
  }),

  claimTrial('buried, this life is over; a replay begins a new one', async (world) => {
    const { transport, to, inlet } = await claiming(world)
    const event = makeEvent(world)
    await transport.publish(to.topic, [event])
    const first = await takeOne(world, inlet)
    await settleAll(inlet, [burial(world, to, first)])
    const parcel = freshParcel(event, world.now())
    await transport.forward(to, [parcel])
    const copy = await takeOne(world, inlet)
    assert.equal(copy.claim?.is, 'stale')
    await transport.forward(to, [{ ...parcel, trail: { ...parcel.trail, generation: 1 } }])
    const replay = await takeOne(world, inlet)
    assert.ok(freshOf(replay).held.token > freshOf(first).held.token)
    await ackAll(inlet, [copy, replay])
  }),

  claimTrial('who lost the claim to a newer attempt settles nothing', async (world) => {
    const { opened, transport, to, inlet } = await claiming(world)
    await transport.publish(to.topic, [makeEvent(world)])
    const older = await takeOne(world, inlet)
    await transport.forward(to, [failedOnce(world, older.parcel, 0)])
    const newer = await takeOne(world, inlet)
    assert.equal(freshOf(newer).held.key.attempt, 2)
    assert.deepEqual(await inlet.settle([{ do: 'ack', delivery: older }]), ['lost'])
    const [claim] = await opened.store!.ledger.claim([keyOf(to.service, newer.parcel)], world.now() + 1000)
    assert.equal(claim?.is, 'busy', 'the newer attempt lost its claim')
    await ackAll(inlet, [newer])
  }),

  claimTrial('settle ends the claim in the ledger of the same store', async (world) => {
    const { opened, transport, to, inlet } = await claiming(world)
    await transport.publish(to.topic, [makeEvent(world)])
    const delivery = await takeOne(world, inlet)
    const key = keyOf(to.service, delivery.parcel)
    const ask = async () => (await opened.store!.ledger.claim([key], world.now() + 1000))[0]?.is
    assert.equal(await ask(), 'busy')
    await ackAll(inlet, [delivery])
    assert.equal(await ask(), 'done')
  }),
]
