import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { describeOwnKafka, type OwnKafka, ownKafka } from '../../../test/kafka/own-kafka.ts'
import type { Clock } from '../../contracts/tools.ts'
import type { Inlet, Transport } from '../../contracts/transport.ts'
import { realWorld } from '../../testing/trials/index.ts'
import { idsOf, makeEvent, makeEvents, makeSubscription, take } from '../../testing/trials/kit.ts'
import { failedOnce } from '../../testing/trials/samples.ts'
import { systemClock } from '../system/clock.ts'
import { systemDice } from '../system/dice.ts'
import { open } from './index.ts'

describeOwnKafka('a kafka broker that is gone', () => {
  /** Our own time limits, made so many times shorter while nobody answers. */
  let hurry = 1
  const clock: Clock = {
    ...systemClock,
    sleep: (ms, signal) => systemClock.sleep(ms / hurry, signal),
  }
  const tools = { clock, dice: systemDice(), journal: () => {} }
  let kafka: OwnKafka
  let url: string
  let transport: Transport

  beforeAll(async () => {
    kafka = await ownKafka()
    url = `kafka://${kafka.brokers[0]}?session=6000&heartbeat=300`
  })
  afterAll(() => kafka.close())
  afterEach(() => transport.close())

  const timed = async <T>(
    work: Promise<T>,
  ): Promise<{ readonly took: number; readonly answer: T | Error }> => {
    const since = Date.now()
    const answer = await work.catch((error: Error) => error)
    return { took: Date.now() - since, answer }
  }
  const halfway = async () => {
    const world = realWorld(open, url, tools)
    transport = (await open(url, tools)).transport
    const to = makeSubscription(world)
    const inlet = await transport.subscribe(to)
    const events = makeEvents(world, 9)
    await transport.publish(to.topic, events)
    return { world, to, inlet, events, got: await take(world, inlet, 6) }
  }
  /** Whatever is asked of it, an answer comes, and it can be closed. */
  const answers = async ({ world, to, inlet, got }: Awaited<ReturnType<typeof halfway>>, most: number) => {
    const waiting = inlet.receive(9, new AbortController().signal)
    const [subscribed, collected, forwarded, published, settled, measured] = await Promise.all([
      timed(transport.subscribe(makeSubscription(world))),
      timed(transport.collect({ name: world.name('graves') })),
      timed(transport.forward(to, [{ ...got[2]!.parcel, due: 0 }])),
      timed(transport.publish(to.topic, [makeEvent(world)])),
      timed(
        inlet.settle([
          { do: 'ack', delivery: got[0]! },
          { do: 'later', delivery: got[1]!, parcel: failedOnce(world, got[1]!.parcel, 0) },
        ]),
      ),
      timed(inlet.lag()),
    ])
    for (const { answer } of [subscribed, collected, forwarded, published]) {
      expect(answer).toMatchObject({ code: 'unavailable' })
    }
    expect(measured.answer).toMatchObject({ code: 'unavailable' })
    for (const each of settled.answer as readonly unknown[]) {
      if (each !== 'lost') expect(each).toMatchObject({ code: 'unavailable' })
    }
    for (const { took } of [subscribed, collected, forwarded, published, settled, measured]) {
      expect(took).toBeLessThan(most)
    }
    const closing = await timed(transport.close())
    expect(closing.answer).toBeUndefined()
    expect(closing.took).toBeLessThan(14_000)
    await waiting
  }
  const rest = async (inlet: Inlet, count: number) => {
    const ids = new Set<string>()
    while (ids.size < count) {
      const got = await inlet.receive(9, AbortSignal.timeout(40_000))
      expect(got.length).toBeGreaterThan(0)
      for (const id of idsOf(got)) ids.add(id)
      await inlet.settle(got.map((delivery) => ({ do: 'ack', delivery })))
    }
    return ids
  }

  it('killed: everything is answered with an error, closing ends, and nothing is missing when it is back', async () => {
    const stage = await halfway()
    await kafka.kill()
    await answers(stage, 30_000)
    await kafka.start()
    transport = (await open(url, tools)).transport
    const ids = await rest(await transport.subscribe(stage.to), 9)
    for (const { id } of stage.events) expect(ids).toContain(id)
  })

  it('frozen: the same, within the time that requests have', async () => {
    const stage = await halfway()
    kafka.freeze()
    hurry = 8
    try {
      await answers(stage, 10_000)
    } finally {
      hurry = 1
      kafka.thaw()
    }
  })
})
