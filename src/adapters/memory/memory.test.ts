import { expect, test } from 'vitest'
import type { Opened } from '../../contracts/adapter.ts'
import type { Inlet } from '../../contracts/transport.ts'
import { testTools } from '../../testing/tools.ts'
import { makeEvent, makeEvents, makeSubscription } from '../../testing/trials/kit.ts'
import { burial } from '../../testing/trials/samples.ts'
import type { TrialWorld } from '../../testing/trials/trial.ts'
import { open } from './index.ts'

// What every transport must do is proved by the trials; here is only what is memory's own.

const tools = testTools()
let names = 0
const world: TrialWorld = {
  open: () => open('memory:', tools),
  wait: tools.clock.advance,
  now: tools.clock.now,
  name: (prefix) => `${prefix}-${++names}`,
  tools,
  slack: 0,
  patience: 1000,
}
const soon = (inlet: Inlet, max = 10) => inlet.receive(max, AbortSignal.timeout(50))

test('each memory: is a world of its own, a named one is the same as often as it is opened', async () => {
  const to = makeSubscription(world)
  const publish = ({ transport }: Opened) => transport?.publish(to.topic, [makeEvent(world)])
  const named = await open('memory:one', tools)
  const inlet = await named.transport.subscribe(to)
  await publish(await open('memory://one', tools))
  expect(await soon(inlet)).toHaveLength(1)
  await expect(publish(await open('memory:', tools))).rejects.toMatchObject({ code: 'unheard' })
  await expect(publish(await open('memory:two', tools))).rejects.toMatchObject({ code: 'unheard' })
})

test('another URL is refused by name of its scheme only', async () => {
  await expect(open('amqp://user:secret@host', tools)).rejects.toMatchObject({ code: 'bad_url' })
  await expect(open('amqp://user:secret@host', tools)).rejects.not.toThrow('secret')
})

test('a type that no subscription of the topic wants is refused, and the whole batch with it', async () => {
  const { transport } = await open('memory:', tools)
  const to = makeSubscription(world, { types: ['wanted'] })
  const inlet = await transport.subscribe(to)
  const batch = [makeEvent(world, { type: 'wanted' }), makeEvent(world, { type: 'unwanted' })]
  await expect(transport.publish(to.topic, batch)).rejects.toMatchObject({ code: 'unheard' })
  expect(await soon(inlet)).toEqual([])
})

test('a destination lets go what has lain there longer than it keeps', async () => {
  const { transport } = await open('memory:', tools)
  const to = makeSubscription(world, { destinations: [{ name: 'dead', expire: 1000 }] })
  const inlet = await transport.subscribe(to)
  const office = await transport.collect({ name: 'dead' })
  const buryOne = async () => {
    await transport.publish(to.topic, [makeEvent(world)])
    const [delivery] = await soon(inlet)
    await inlet.settle([burial(world, to, delivery!)])
  }
  await buryOne()
  await tools.clock.advance(600)
  await buryOne()
  expect(await office.lag()).toMatchObject({ waiting: 2 })
  await tools.clock.advance(600)
  expect(await office.lag()).toMatchObject({ waiting: 1 })
  expect(await soon(office)).toHaveLength(1)
})

test('deliveries lost to others make room in the window', async () => {
  const { transport } = await open('memory:', tools)
  const to = makeSubscription(world, { window: 2, lease: 100 })
  const slow = await transport.subscribe(to)
  const quick = await transport.subscribe(to)
  await transport.publish(to.topic, makeEvents(world, 4))
  expect(await soon(slow)).toHaveLength(2)
  expect(await soon(slow)).toHaveLength(0)
  await tools.clock.advance(100)
  expect(await soon(quick)).toHaveLength(2)
  expect(await soon(slow)).toHaveLength(2)
})

test('a full window of deliveries that nobody settles makes room when their leases are over', async () => {
  const { transport } = await open('memory:', tools)
  const to = makeSubscription(world, { window: 2, lease: 100 })
  const inlet = await transport.subscribe(to)
  await transport.publish(to.topic, makeEvents(world, 2))
  expect(await soon(inlet)).toHaveLength(2)
  const waiting = inlet.receive(2, new AbortController().signal)
  await tools.clock.advance(100)
  expect(await tools.clock.runUntil(waiting)).toHaveLength(2)
})

test('a follower of an order key counts as waiting', async () => {
  const { transport } = await open('memory:', tools)
  const to = makeSubscription(world, { order: 'key' })
  const inlet = await transport.subscribe(to)
  await transport.publish(to.topic, makeEvents(world, 3, { extensions: { orderkey: 'a' } }))
  expect(await inlet.lag()).toMatchObject({ waiting: 3 })
  expect(await soon(inlet)).toHaveLength(1)
  expect(await inlet.lag()).toMatchObject({ waiting: 2 })
})
