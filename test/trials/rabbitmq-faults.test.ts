import { afterAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/adapters/system/clock.ts'
import { systemDice } from '../../src/adapters/system/dice.ts'
import type { Open } from '../../src/contracts/adapter.ts'
import type { Inlet, Transport } from '../../src/contracts/transport.ts'
import { realWorld, type TrialWorld } from '../../src/testing/trials/index.ts'
import { type FaultProxy, openProxy } from '../faults/proxy.ts'
import { describeWith, serviceUrl } from '../services/urls.ts'
import { aside, noting } from './rabbitmq-aside.ts'
import { adapterOf, trialTests } from './suite.ts'

/** The longest that a piece of the talk is held up. */
const DELAY = 5

/** Some measure how late a wait is, and the proxy shares its machine with the broker. */
const AGAIN = { atOnce: 8, retry: 1 }

/** Until then an ack may not have arrived, and a client may write to a connection that is gone. */
const ON_THE_WAY = 25

/** How long a connection swallows all before it breaks: longer than any call takes. */
const HALF_OPEN = 60

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

/** One blow: whatever it does to the wire, the call must answer as if nothing had been. */
type Blow = <T>(proxy: FaultProxy, call: () => Promise<T>) => Promise<T>

/** A run in which nobody had to connect again would prove nothing. */
interface Tally {
  blows: number
  felt: number
}

/**
 * Blows fall with a call, wherever nothing is out: nobody may notice. With deliveries out a cut makes them come again, and
 * their settlements lost, which is what the trials forbid a connection that lives.
 */
const struck =
  (blow: Blow, tally: Tally) =>
  (transport: Transport, proxy: FaultProxy): Transport => {
    let out = 0
    const strike = async <T>(call: () => Promise<T>): Promise<T> => {
      if (out > 0) return call()
      await systemClock.sleep(ON_THE_WAY)
      const { accepted } = proxy
      try {
        return await blow(proxy, call)
      } finally {
        tally.blows++
        if (proxy.accepted > accepted) tally.felt++
      }
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
      publish: (topic, events) => strike(() => transport.publish(topic, events)),
      forward: (to, parcels) => strike(() => transport.forward(to, parcels)),
      subscribe: async (to) => counting(await strike(() => transport.subscribe(to))),
      collect: async (destination) => counting(await strike(() => transport.collect(destination))),
    }
  }

const cut: Blow = async (proxy, call) => {
  proxy.cut()
  await systemClock.sleep(ON_THE_WAY)
  return call()
}

/** Nothing of what the call says arrives: where it is refused in the end, it may be made once more. */
const halfOpen: Blow = async (proxy, call) => {
  proxy.freeze()
  const calling = call()
  calling.catch(() => {})
  await systemClock.sleep(HALF_OPEN)
  proxy.cut()
  proxy.admit()
  return calling.catch((error) => {
    if (error.code !== 'unavailable') throw error
    return call()
  })
}

const suite = (world: TrialWorld): Promise<void> => trialTests(world, AGAIN)

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

  for (const [title, blow] of [
    ['that cuts whatever is idle', cut],
    ['that is half-open for a while, and then breaks', halfOpen],
  ] as const) {
    describe(title, async () => {
      const tally: Tally = { blows: 0, felt: 0 }
      await suite(world(through(open, () => {}, struck(blow, tally))))
      test('nearly every blow made somebody connect again', () => {
        expect(tally.blows).toBeGreaterThan(100)
        expect(tally.felt / tally.blows).toBeGreaterThan(0.9)
      })
    })
  }
})
