import { describe, expect, it, onTestFinished } from 'vitest'
import { open } from '../../src/adapters/memory/index.ts'
import type { Transport } from '../../src/contracts/transport.ts'
import { Transient } from '../../src/index.ts'
import { readRules } from '../../src/rules/index.ts'
import { createApp } from '../../src/runtime/app.ts'
import { testTools } from '../../src/testing/tools.ts'

const TYPE = 'ticket.opened'

/** An app in virtual time whose inlets are watched: what was asked for, what came, how many were out. */
const stage = async (service: string) => {
  const tools = testTools()
  const { transport: whole, store } = await open('memory:', tools)
  const watch = { asked: [] as number[], came: [] as number[], outAtAsk: [] as number[], out: 0, most: 0 }
  const transport: Transport = {
    ...whole!,
    subscribe: async (to) => {
      const inlet = await whole!.subscribe(to)
      return {
        ...inlet,
        receive: async (max, signal, except) => {
          watch.asked.push(max)
          watch.outAtAsk.push(watch.out)
          const batch = await inlet.receive(max, signal, except)
          watch.came.push(batch.length)
          watch.out += batch.length
          watch.most = Math.max(watch.most, watch.out)
          return batch
        },
        settle: async (batch) => {
          const answers = await inlet.settle(batch)
          watch.out -= batch.length
          return answers
        },
      }
    },
  }
  const book = readRules(`version: 1\nservices: { s: ${service} }`, 'test.yaml')
  const { companion: _, ...alone } = store!
  const app = createApp({ book, transport, store: { ...alone, letters: store!.letters! }, tools })
  onTestFinished(() => tools.clock.runUntil(app.drain(0)))
  const publish = (count: number, type = TYPE, from = 0) =>
    app.publishEvents(
      Array.from({ length: count }, (_, n) => ({
        id: `${type}-${from + n}`,
        source: 'test',
        type,
        extensions: {},
        headers: {},
        data: null,
      })),
    )
  return { app, watch, publish, ...tools }
}

describe('demand', () => {
  it('asks again when the workers have only min each left, at most so many at once, up to max each', async () => {
    const { app, watch, publish, clock } = await stage(
      '{ concurrency: 4, demand: { atOnce: 8, min: 2, max: 5 } }',
    )
    app.service('s').on(TYPE, () => clock.sleep(1000))
    await clock.runUntil(app.start())
    await publish(200)
    await clock.advance(10)
    // 4 workers with 5 each: 8 + 8 + 4; four are under way
    expect(watch.came).toEqual([8, 8, 4])
    expect(watch.asked).toEqual([8, 8, 4])
    await clock.advance(2010)
    expect(watch.came).toEqual([8, 8, 4])
    await clock.advance(1000)
    // 20 - 3 × 4 is no more than 4 × 2
    expect(watch.came).toEqual([8, 8, 4, 8, 4])
    await clock.advance(60_000)
    expect(watch.most).toBe(20)
    expect(Math.max(...watch.asked)).toBe(8)
    expect(watch.out).toBe(0)
    expect(watch.outAtAsk.filter((out) => out > 8 && (out - 8) % 8 !== 0)).toEqual([])
  })

  it('goes on asking where each time brings as many as one may, and rests where it does not', async () => {
    const { app, watch, publish, clock } = await stage(
      '{ concurrency: 2, demand: { atOnce: 4, min: 1, max: 10 } }',
    )
    app.service('s').on(TYPE, () => clock.sleep(60_000))
    await clock.runUntil(app.start())
    await publish(7)
    await clock.advance(10)
    expect(watch.came).toEqual([4, 3])
    await publish(7, TYPE, 7)
    await clock.advance(10)
    expect(watch.came).toEqual([4, 3])
  })

  it('is half a window at a time where the book says nothing', async () => {
    const { app, watch, publish, clock } = await stage('{ concurrency: 5, window: 10 }')
    app.service('s').on(TYPE, () => clock.sleep(1000))
    await clock.runUntil(app.start())
    await publish(30)
    await clock.advance(60_000)
    expect(watch.asked.slice(0, 2)).toEqual([10, 5])
    expect(watch.most).toBe(10)
  })

  it('a window that is written bounds the workers’ demand', async () => {
    const { app, watch, publish, clock } = await stage(
      '{ concurrency: 10, window: 6, demand: { atOnce: 50, min: 5, max: 20 } }',
    )
    app.service('s').on(TYPE, () => clock.sleep(1000))
    await clock.runUntil(app.start())
    await publish(60)
    await clock.advance(60_000)
    expect(watch.most).toBe(6)
    expect(watch.out).toBe(0)
  })

  it('never has more in hand than the window, however long the backlog, in batches and one by one', async () => {
    const { app, watch, publish, clock, facts } = await stage(
      '{ concurrency: 10, demand: { atOnce: 50, min: 5, max: 20 }, batch: { size: 25, timeout: 2s, concurrency: 5 } }',
    )
    let buffered = 0
    let most = 0
    app
      .service('s')
      .onBatch(TYPE, async (events) => {
        buffered += events.length
        most = Math.max(most, buffered)
        await clock.sleep(50)
        buffered -= events.length
      })
      .on('ticket.closed', () => clock.sleep(5))
    await clock.runUntil(app.start())
    for (let n = 0; n < 20; n++) {
      await publish(1000, TYPE, n * 1000)
      await publish(100, 'ticket.closed', n * 100)
    }
    await clock.advance(120_000)
    expect(facts.filter(({ is }) => is === 'done')).toHaveLength(22_000)
    // two doors
    expect(watch.most).toBeLessThanOrEqual(400)
    expect(most).toBe(125)
  })
})

describe('concurrency', () => {
  it('of a row holds for all its events together, within that of the service', async () => {
    const { app, publish, clock } = await stage(
      "{ concurrency: 6, window: 40, events: { 'slow.*': { concurrency: 2 }, ticket.closed: { concurrency: 1 } } }",
    )
    const running = new Map<string, number>()
    const most = new Map<string, number>()
    let all = 0
    let mostOfAll = 0
    const handle = (name: string) => async () => {
      const now = (running.get(name) ?? 0) + 1
      running.set(name, now)
      most.set(name, Math.max(most.get(name) ?? 0, now))
      mostOfAll = Math.max(mostOfAll, ++all)
      await clock.sleep(100)
      running.set(name, running.get(name)! - 1)
      all--
    }
    app
      .service('s')
      .on('slow.a', handle('slow'))
      .on('slow.b', handle('slow'))
      .on('ticket.closed', handle('closed'))
      .on(TYPE, handle('free'))
    await clock.runUntil(app.start())
    for (const type of ['slow.a', 'slow.b', 'ticket.closed', TYPE]) await publish(12, type)
    await clock.advance(60_000)
    expect(Object.fromEntries(most)).toEqual({ slow: 2, closed: 1, free: 3 })
    expect(mostOfAll).toBe(6)
    expect(all).toBe(0)
  })

  it('lets fresh work go before retries, which have a fifth of the slots', async () => {
    const { app, publish, clock } = await stage(
      '{ concurrency: 5, window: 10, policy: { backoff: fixed, delay: 1s, jitter: none, retries: 3 } }',
    )
    const order: string[] = []
    app.service('s').on(TYPE, async (event, ctx) => {
      order.push(ctx.attempt > 1 ? 'retry' : 'fresh')
      await clock.sleep(10)
      if (ctx.attempt === 1 && Number(event.id.split('-')[1]) < 100) throw new Transient('again')
    })
    await clock.runUntil(app.start())
    await publish(100)
    await clock.advance(900)
    await publish(300, TYPE, 100)
    await clock.advance(10_000)
    expect(order.filter((each) => each === 'retry')).toHaveLength(100)
    const from = order.indexOf('retry')
    const contested = order.slice(from, order.lastIndexOf('fresh'))
    const share = contested.filter((each) => each === 'retry').length / contested.length
    expect(share).toBeGreaterThan(0.15)
    expect(share).toBeLessThanOrEqual(0.21)
  })
})
