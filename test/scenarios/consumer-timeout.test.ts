import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'amqplib'
import { afterAll, beforeAll, expect, it, type TestContext } from 'vitest'
import { systemClock } from '../../src/adapters/system/clock.ts'
import { type Fact, ReprieveError, reprieve, Transient } from '../../src/index.ts'
import { readRules } from '../../src/rules/index.ts'
import { describeOwnBroker, type OwnBroker, ownBroker } from '../rabbitmq/own-broker.ts'
import { until } from '../until.ts'

const folder = mkdtempSync(join(tmpdir(), 'reprieve-consumer-timeout-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** How long the broker lets a delivery go unsettled; it looks once a second. */
const CONSUMER_TIMEOUT = 2000
/** Longer than that, whenever it looks. */
const SLOW = 4500
const OTHERS = 20

describeOwnBroker("a handler that is slower than RabbitMQ's consumer_timeout", () => {
  let own: OwnBroker
  beforeAll(async () => {
    own = await ownBroker()
    await own.control('eval', `application:set_env(rabbit, consumer_timeout, ${CONSUMER_TIMEOUT}).`)
    await own.control('eval', 'application:set_env(rabbit, channel_tick_interval, 1000).')
  })
  afterAll(() => own?.close())

  const shop = async ({ onTestFinished }: TestContext, pattern: string, failing: boolean) => {
    const facts: Fact[] = []
    const service = `shop-${randomUUID().slice(0, 8)}`
    const topic = `${service}.placed`
    const defaults = `{ idempotency: { pattern: ${pattern} }, policy: { retries: 2, backoff: fixed, delay: 100ms }, lease: 4s, timeout: 60s }`
    const app = await reprieve({
      rules: readRules(`version: 1\ndefaults: ${defaults}`, 'test.yaml'),
      transport: own.url,
      store: `sqlite:${join(folder, `${service}.db`)}`,
      journal: (fact) => facts.push(fact),
    })
    onTestFinished(() => app.close())
    /** Of the slow one, as its handler saw them. */
    const attempts: number[] = []
    app.service(service).on(topic, async (event, { attempt }) => {
      if (event.id !== 'slow') return
      attempts.push(attempt)
      await systemClock.sleep(SLOW)
      if (failing) throw new Transient('not yet')
    })
    await app.start()
    await app.publish(topic, {}, { id: 'slow' })
    const others = async (from: number) => {
      for (let n = from; n < from + OTHERS; n++) await app.publish(topic, { n }, { id: `quick-${n}` })
      const isDone = (n: number) => facts.some((fact) => fact.is === 'done' && fact.event === `quick-${n}`)
      await until('the others', () =>
        Array.from({ length: OTHERS }, (_, n) => isDone(from + n)).every(Boolean),
      )
    }
    const waiting = async () => {
      const connection = await connect(own.url)
      const { messageCount } = await (await connection.createChannel()).checkQueue(`${service}.${topic}`)
      await connection.close()
      return messageCount
    }
    const closings = () =>
      facts.flatMap((fact) =>
        fact.is === 'trouble' && /PRECONDITION_FAILED|cancelled/.test(fact.error.message) ? [fact.error] : [],
      )
    return { app, facts, attempts, others, waiting, closings }
  }

  /** Nothing comes any more: it has not been run for longer than the broker would have waited. */
  const atRest = async ({ attempts, waiting }: Awaited<ReturnType<typeof shop>>) => {
    const before = attempts.length
    await systemClock.sleep(SLOW + CONSUMER_TIMEOUT)
    expect(attempts).toHaveLength(before)
    expect(await waiting()).toBe(0)
  }

  // most of the time they wait for the broker: side by side
  it.concurrent('and ends well: it is run once, others go on, and why its channel was closed is told with the fix', async (context) => {
    const all = await shop(context, 'dedup', false)
    await all.others(0)
    await until('the channel to be closed', () => all.closings().length > 0)
    await all.others(OTHERS)
    await until('its double', () => all.facts.some(({ is }) => is === 'duplicate'))
    await atRest(all)
    expect(all.attempts).toEqual([1])
    const [told] = all.closings()
    expect(told).toBeInstanceOf(ReprieveError)
    expect((told as ReprieveError).fix).toMatch(/'timeout'.*consumer_timeout/)
    expect(await all.app.office.count({})).toBe(0)
  })

  it.concurrent('and ends well, with no ledger to know it: it is run again while it runs, and then no more', async (context) => {
    const all = await shop(context, 'none', false)
    await until('its end', () => all.facts.some((fact) => fact.is === 'done' && fact.event === 'slow'))
    await atRest(all)
    expect(all.attempts.length).toBeLessThanOrEqual(3)
  })

  it.concurrent.for(['dedup', 'none'])(
    'and fails, idempotency %s: its attempts count, and it is buried when they are spent',
    async (pattern, context) => {
      const all = await shop(context, pattern, true)
      await all.others(0)
      const [kept] = await until('its letter', async () => {
        const letters = await all.app.office.list({}, 9)
        return letters.length > 0 && letters
      })
      expect(kept!.letter).toMatchObject({
        reason: 'attempts exhausted',
        event: { id: 'slow' },
        trail: { spent: 3 },
      })
      await all.others(OTHERS)
      await atRest(all)
      if (pattern === 'dedup') expect(all.attempts).toEqual([1, 2, 3])
      expect(await all.app.office.count({})).toBe(1)
    },
  )
})
