import { describe, expect, it } from 'vitest'
import { reprieve, Transient } from '../../src/index.ts'
import { readRules } from '../../src/rules/index.ts'
import { testTools } from '../../src/testing/tools.ts'

const CONCURRENCY = 10
const HANDLING = 10
const TICK = 100
const OUTAGE = 10 * 60_000
/** Arrivals a tick. */
const ARRIVING = { crm: 17, mail: 2, stock: 2 } as const
type Name = keyof typeof ARRIVING
const NAMES = Object.keys(ARRIVING) as Name[]

const BOOK = `version: 1
dependencies:
  crm: { breaker: { failures: 5, open: 10s, spread: 0%, probes: 1, successes: 2, ramp: 5s } }
  mail: {}
  stock: {}
services:
  shop:
    concurrency: ${CONCURRENCY}
    window: 100
    idempotency: { pattern: none }
    policy: { backoff: fixed, delay: 1s, jitter: none, retries: 3, window: 1h }
    events:
      order.crm: { dependencies: [crm] }
      order.mail: { dependencies: [mail] }
      order.stock: { dependencies: [stock] }
`

/**
 * One of three dependencies is gone for ten minutes, and a hundred thousand events pile up behind it. What the backlog
 * then takes is known beforehand: it was fed λ for a time T, and shrinks by what is left of the capacity, μ − λ.
 */
const outage = async () => {
  const { clock, dice } = testTools()
  const handled = { crm: 0, mail: 0, stock: 0 }
  const tally = { calls: 0, spent: 0, dead: 0, arrived: 0 }
  let isUp = true
  const app = await reprieve({
    rules: readRules(BOOK, 'reprieve.yaml', {}),
    transport: 'memory:',
    clock,
    dice,
    office: false,
    journal: (fact) => {
      if (fact.is === 'dead') tally.dead++
      if (fact.is === 'failed' && fact.type === 'order.crm') tally.spent++
    },
  })
  const shop = app.service('shop')
  for (const name of NAMES) {
    shop.on(`order.${name}`, (_, ctx) =>
      ctx.call(name, async () => {
        if (name === 'crm') tally.calls++
        if (name === 'crm' && !isUp) throw new Transient('the CRM is down')
        await clock.sleep(HANDLING)
        handled[name]++
      }),
    )
  }
  await clock.runUntil(app.start())

  const arrive = async (): Promise<void> => {
    for (const name of NAMES) {
      for (let n = 0; n < ARRIVING[name]; n++) await app.publish(`order.${name}`, { n })
    }
    tally.arrived += ARRIVING.crm
    await clock.advance(TICK)
  }
  const during = async (ms: number): Promise<typeof handled> => {
    const before = { ...handled }
    for (let at = 0; at < ms; at += TICK) await arrive()
    return {
      crm: handled.crm - before.crm,
      mail: handled.mail - before.mail,
      stock: handled.stock - before.stock,
    }
  }

  const before = await during(10_000)
  isUp = false
  const { calls } = tally
  const meanwhile = await during(OUTAGE)
  const waiting = tally.arrived - handled.crm
  const asked = tally.calls - calls
  isUp = true
  const mailed = handled.mail
  const restored = clock.now()
  while (tally.arrived - handled.crm > 2 * ARRIVING.crm) await arrive()
  const took = clock.now() - restored
  const draining = { mail: handled.mail - mailed, took }
  await clock.runUntil(app.close())
  return { before, meanwhile, waiting, asked, draining, spent: tally.spent, dead: tally.dead }
}

describe('an outage of one dependency of three, for ten minutes', () => {
  it('leaves the others their rate and the waiting their attempts, and drains as fast as can be', async () => {
    const { before, meanwhile, waiting, asked, draining, spent, dead } = await outage()
    console.log('outage of one of three:', { before, meanwhile, waiting, asked, draining, spent, dead })
    expect(waiting).toBeGreaterThanOrEqual(100_000)

    // the others: as many a minute as before
    for (const name of ['mail', 'stock'] as const) {
      expect(meanwhile[name] / (OUTAGE / 10_000)).toBeGreaterThanOrEqual(before[name] * 0.99)
    }
    expect(draining.mail / draining.took).toBeGreaterThanOrEqual((ARRIVING.mail / TICK) * 0.95)

    // attempts: those under way when it began, and a probe each ten seconds; nothing was buried
    expect(asked).toBeLessThanOrEqual(CONCURRENCY + OUTAGE / 10_000 + 1)
    expect(spent).toBe(asked)
    expect(dead).toBe(0)

    const capacity = CONCURRENCY / HANDLING - (ARRIVING.mail + ARRIVING.stock) / TICK
    const arriving = ARRIVING.crm / TICK
    const least = (arriving * OUTAGE) / (capacity - arriving)
    expect(draining.took).toBeGreaterThanOrEqual(least * 0.95)
    // until the next probe, and the ramp
    expect(draining.took).toBeLessThanOrEqual(least * 1.1 + 10_000 + 5_000)
  })
})
