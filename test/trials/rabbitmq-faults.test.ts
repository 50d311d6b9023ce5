import { afterAll, describe, test, vi } from 'vitest'
import { systemClock } from '../../src/adapters/system/clock.ts'
import { systemDice } from '../../src/adapters/system/dice.ts'
import type { Open } from '../../src/contracts/adapter.ts'
import type { Inlet, Transport } from '../../src/contracts/transport.ts'
import { realWorld, runTrial, survey, type TrialWorld, trials } from '../../src/testing/trials/index.ts'
import { type FaultProxy, openProxy } from '../faults/proxy.ts'
import { describeWith, serviceUrl } from '../services/urls.ts'
import { aside, noting } from './rabbitmq-aside.ts'
import { adapterOf } from './suite.ts'

/** The longest that a piece of the talk is held up. */
const DELAY = 5

/** Some measure how late a wait is, and the proxy shares its machine with the broker. */
const AGAIN = { retry: 1, timeout: 90_000 }

/** Until then an ack may not have arrived, and a client may write to a connection that is gone. */
const ON_THE_WAY = 25

/** Every transport goes through a proxy of its own, which is disturbed by what `around` makes of its calls. */
const through =
  (
    open: Open,
    disturb: (proxy: FaultProxy) => void,
    around = (transport: Transport, _: FaultProxy) => transport,
  ): Open =>
  async (url, tools) => {
    const proxy = await openProxy(url)
    disturb(proxy)
    const transport = around((await open(proxy.url, tools)).transport!, proxy)
    return {
      transport: {
        ...transport,
        close: async () => {
          await transport.close()
          await proxy.close()
        },
      },
    }
  }

/**
 * All connections are cut before a call, wherever nothing is out: nobody may notice. With deliveries out a cut
 * makes them come again, and their settlements lost, which is what the trials forbid a connection that lives.
 */
const cutting = (transport: Transport, proxy: FaultProxy): Transport => {
  let out = 0
  const cut = async (): Promise<void> => {
    if (out > 0) return
    await systemClock.sleep(ON_THE_WAY)
    proxy.cut()
    await systemClock.sleep(ON_THE_WAY)
  }
  const counting = (inlet: Inlet): Inlet => ({
    ...inlet,
    receive: async (max, signal, except) => {
      const deliveries = await inlet.receive(max, signal, except)
      out += deliveries.length
      return deliveries
    },
    settle: async (batch) => {
      const answers = await inlet.settle(batch)
      out -= answers.filter((answer) => answer === 'done').length
      return answers
    },
  })
  return {
    ...transport,
    publish: async (topic, events) => {
      await cut()
      return transport.publish(topic, events)
    },
    forward: async (to, parcels) => {
      await cut()
      return transport.forward(to, parcels)
    },
    subscribe: async (to) => {
      await cut()
      return counting(await transport.subscribe(to))
    },
    collect: async (destination) => {
      await cut()
      return counting(await transport.collect(destination))
    },
  }
}

const suite = async (world: TrialWorld): Promise<void> => {
  const { skip } = await survey(world)
  vi.setConfig({ maxConcurrency: 8 })
  for (const trial of trials) {
    if (skip(trial) !== undefined) continue
    test.concurrent(trial.name, AGAIN, async () => {
      const result = await runTrial(trial, world)
      if (result.is === 'failed') throw result.error
    })
  }
}

describeWith('amqp', 'rabbitmq through a fault proxy', async (url) => {
  if (!serviceUrl('amqp')) return void test('trials', () => undefined)
  const tools = { clock: systemClock, dice: systemDice(), journal: () => undefined }
  const queues = new Set<string>()
  const { put, close } = aside(url)
  afterAll(() => close(queues))
  const open = noting(await adapterOf('rabbitmq'), queues)
  const world = (by: Open): TrialWorld => ({ ...realWorld(by, url, tools), raw: { put } })

  describe('that holds up each piece', async () => {
    await suite(world(through(open, (proxy) => proxy.delay(DELAY))))
  })

  describe('that cuts whatever is idle', async () => {
    await suite(world(through(open, () => {}, cutting)))
  })
})
