import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Admin } from '@platformatic/kafka'
import { afterAll, expect, it } from 'vitest'
import { describeWith } from '../../../test/services/urls.ts'
import type { Delivery, Inlet, Settlement, Subscription, Transport } from '../../contracts/transport.ts'
import { realWorld } from '../../testing/trials/index.ts'
import {
  ackAll,
  idsOf,
  makeEvents,
  makeSubscription,
  sorted,
  take,
  takeNone,
} from '../../testing/trials/kit.ts'
import { failedOnce } from '../../testing/trials/samples.ts'
import { systemClock } from '../system/clock.ts'
import { systemDice } from '../system/dice.ts'
import { open } from './index.ts'

/**
 * A process that takes some, acknowledges the first two, tells which, and waits to be killed; or to be asked, and
 * then settles the others and tells the answers.
 */
const VICTIM = `
  const { open } = await import(process.env.ADAPTER)
  const { systemClock } = await import(process.env.CLOCK)
  const tools = { clock: systemClock, dice: { next: () => 0.5, uuid: () => 'x' }, journal: () => {} }
  const { transport } = await open(process.env.URL, tools)
  const inlet = await transport.subscribe(JSON.parse(process.env.TO))
  const got = []
  while (got.length < 6) got.push(...(await inlet.receive(6 - got.length, new AbortController().signal)))
  await inlet.settle(got.slice(0, 2).map((delivery) => ({ do: 'ack', delivery })))
  console.log(JSON.stringify(got.map(({ parcel }) => parcel.event.id)))
  process.stdin.once('data', async (how) => {
    const settlement = (delivery) =>
      String(how) === 'put off' ? { do: 'later', delivery, parcel: delivery.parcel } : { do: 'ack', delivery }
    console.log(JSON.stringify(await inlet.settle(got.slice(2).map(settlement))))
    await transport.close()
    process.exit()
  })
`

describeWith('kafka', 'members of a consumer group', (brokers) => {
  const url = `kafka://${brokers}?session=6000&heartbeat=300`
  const tools = { clock: systemClock, dice: systemDice(), journal: () => {} }
  const world = realWorld(open, url, tools)
  const run = world.name('x').split('-').at(-2)!
  const opened = new Set<Transport>()
  const openOne = async () => {
    const { transport } = await open(url, tools)
    opened.add(transport)
    return transport
  }

  const startVictim = (to: Subscription) =>
    spawn(process.execPath, ['--input-type=module', '-e', VICTIM], {
      env: {
        ...process.env,
        ADAPTER: new URL('./index.ts', import.meta.url).href,
        CLOCK: new URL('../system/clock.ts', import.meta.url).href,
        URL: url,
        TO: JSON.stringify(to),
      },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
  const told = async ({ stdout }: ReturnType<typeof startVictim>): Promise<string[]> => {
    const [line] = (await once(stdout, 'data')) as [Buffer]
    return JSON.parse(line.toString()) as string[]
  }
  /** Which came, and whether they were marked as redelivered. */
  const workOff = async (inlet: Inlet, count: number) => {
    const seen = new Map<string, boolean>()
    while (seen.size < count) {
      const [delivery] = await take(world, inlet, 1)
      seen.set(delivery!.parcel.event.id, delivery!.redelivered)
      await ackAll(inlet, [delivery!])
    }
    return seen
  }

  afterAll(async () => {
    await Promise.all([...opened].map((transport) => transport.close()))
    const admin = new Admin({ clientId: 'test', bootstrapBrokers: brokers.split(','), timeout: 30_000 })
    const ours = (await admin.listTopics()).filter((name) => name.includes(run))
    if (ours.length > 0) await admin.deleteTopics({ topics: ours })
    await admin.close()
  })

  it('what a killed process had in hand comes to another one, marked; what it finished does not', async () => {
    const transport = await openOne()
    const to = makeSubscription(world, { window: 6 })
    await (await transport.subscribe(to)).close()
    const events = makeEvents(world, 12)
    await transport.publish(to.topic, events)
    const victim = startVictim(to)
    const [one, two, ...inHand] = await told(victim)
    victim.kill('SIGKILL')
    await once(victim, 'exit')
    const seen = await workOff(await transport.subscribe(to), 10)
    expect(sorted([...seen.keys(), one!, two!])).toEqual(sorted(events.map(({ id }) => id)))
    for (const id of inHand) expect(seen.get(id), id).toBe(true)
  })

  it('one that was frozen for too long finds its deliveries lost, and takes nothing back from the next owner', async () => {
    const transport = await openOne()
    const to = makeSubscription(world, { window: 6 })
    await (await transport.subscribe(to)).close()
    const events = makeEvents(world, 12)
    await transport.publish(to.topic, events)
    const victim = startVictim(to)
    const [one, two] = await told(victim)
    victim.kill('SIGSTOP')
    const inlet = await transport.subscribe(to)
    const seen = await workOff(inlet, 10)
    victim.kill('SIGCONT')
    victim.stdin.write('settle')
    expect(await told(victim)).toEqual(['lost', 'lost', 'lost', 'lost'])
    await once(victim, 'exit')
    expect(sorted([...seen.keys(), one!, two!])).toEqual(sorted(events.map(({ id }) => id)))
    await takeNone(world, inlet, 1_000)
  })

  it('one that was frozen for too long writes no retries of what others have done by then', async () => {
    const transport = await openOne()
    const to = makeSubscription(world, { window: 6 })
    await (await transport.subscribe(to)).close()
    await transport.publish(to.topic, makeEvents(world, 12))
    const victim = startVictim(to)
    await told(victim)
    victim.kill('SIGSTOP')
    const inlet = await transport.subscribe(to)
    await workOff(inlet, 10)
    victim.stdin.write('put off')
    victim.kill('SIGCONT')
    expect(await told(victim)).toEqual(['lost', 'lost', 'lost', 'lost'])
    await once(victim, 'exit')
    await takeNone(world, inlet, 2_000)
  })

  it('come and go: nothing is lost, and what was said to be done never comes again', async () => {
    const EVENTS = 600
    const to = makeSubscription(world, { window: 20 })
    const first = await openOne()
    const acked = new Map<string, number>()
    const putOff = new Map<string, number>()
    const all = Promise.withResolvers<void>()
    const stop = new AbortController()
    let lost = 0

    const decide = (delivery: Delivery, n: number): Settlement => {
      if (delivery.parcel.trail.spent === 0 && n % 5 === 0) {
        return { do: 'later', delivery, parcel: failedOnce(world, delivery.parcel, 50 + 10 * n) }
      }
      return n % 17 === 0 && !delivery.redelivered ? { do: 'give back', delivery } : { do: 'ack', delivery }
    }
    const work = async (inlet: Inlet) => {
      while (!stop.signal.aborted) {
        const got = await inlet.receive(10, stop.signal).catch(() => undefined)
        if (!got || got.length === 0) return
        await world.wait(5)
        const batch = got.map(decide)
        const answers = await inlet.settle(batch)
        batch.forEach((settlement, i) => {
          if (answers[i] === 'lost') lost++
          if (answers[i] !== 'done' || settlement.do === 'give back') return
          const counts = settlement.do === 'ack' ? acked : putOff
          const { id } = settlement.delivery.parcel.event
          counts.set(id, (counts.get(id) ?? 0) + 1)
        })
        if (acked.size === EVENTS) all.resolve()
      }
    }
    const start = async (transport: Transport) => void work(await transport.subscribe(to))

    await start(first)
    const events = makeEvents(world, EVENTS)
    const publishing = (async () => {
      for (let n = 0; n < EVENTS; n += 20) {
        await first.publish(to.topic, events.slice(n, n + 20))
        await world.wait(150)
      }
    })()
    for (let round = 0; round < 4; round++) {
      const others = [await openOne(), await openOne()]
      await Promise.all(others.map(start))
      await world.wait(900)
      await others[0]!.close()
      await world.wait(300)
      await others[1]!.close()
    }
    await publishing
    await world.wait(world.patience, all.promise)
    await world.wait(1_000)
    stop.abort()
    expect(sorted([...acked.keys()])).toEqual(sorted(events.map(({ id }) => id)))
    expect([...acked].filter(([, times]) => times > 1)).toEqual([])
    expect([...putOff].filter(([, times]) => times > 1)).toEqual([])
    // Handlers were given time to finish before partitions went.
    expect(lost).toBeLessThan(40)
  })

  it('a member that leaves hands over at once', async () => {
    const to = makeSubscription(world)
    const transports = [await openOne(), await openOne()]
    const inlets = await Promise.all(transports.map((transport) => transport.subscribe(to)))
    const events = makeEvents(world, 30)
    await transports[0]!.publish(to.topic, events)
    const stop = new AbortController()
    const held = await Promise.all(inlets.map((inlet) => inlet.receive(30, stop.signal)))
    const since = world.now()
    const waiting = take(world, inlets[1]!, 30 - held[1]!.length)
    await transports[0]!.close()
    const rest = await waiting
    expect(world.now() - since).toBeLessThan(5_000)
    expect(sorted([...idsOf(held[1]!), ...idsOf(rest)])).toEqual(sorted(events.map(({ id }) => id)))
  })
})
