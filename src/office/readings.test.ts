import { describe, expect, it } from 'vitest'
import type { Tally } from '../contracts/groups.ts'
import { NO_PACE } from '../core/pace.ts'
import type { Waits } from '../core/waiting.ts'
import { readRules } from '../rules/index.ts'
import { readingsOf, type Seen } from './readings.ts'

const MINUTE = 60_000
const NOW = 1_800_000_000_000
const book = readRules(
  `version: 1
defaults: { alerts: { batchTimeouts: { above: 5% }, duplicates: { above: 20%, atLeast: 3 }, depth: { from: 100 } } }
services:
  pay-svc:
    alerts: { breakerOpen: { above: 1m } }
    events: { payment.booked: { alerts: { depth: { from: 5 }, oldest: { above: 10m } } } }
`,
  'test.yaml',
  {},
)

const tally = (over: Partial<Tally>): Tally => ({
  ...{ fingerprint: 'f1-1', service: 'pay-svc', topic: 't', type: 'payment.moved', state: 'open', count: 1 },
  ...({ category: 'transient', kind: 'integration' } as const),
  ...over,
})

const seen = (over: Partial<Seen>): Seen => ({
  ...{ now: NOW, live: [], oldest: new Map(), inflow: new Map(), paces: new Map(), unwell: new Map() },
  waiting: new Map(),
  ...over,
})

const figures = (over: Partial<Seen>): Record<string, number | undefined> =>
  Object.fromEntries(
    readingsOf(book, seen(over)).map(({ of, alert, figure }) => [
      `${alert.metric} of ${of} ${alert.over} ${alert.threshold}`,
      figure,
    ]),
  )

describe('readings', () => {
  it('count letters of a service by rule', () => {
    const live = [
      tally({ count: 7 }),
      tally({ type: 'payment.booked', count: 3 }),
      tally({ type: 'x', count: 2 }),
    ]
    expect(figures({ live })).toMatchObject({ 'depth of pay-svc >= 100': 9, 'depth of pay-svc >= 5': 3 })
  })

  it('go by the strictest rule where the service is looked at as a whole', () => {
    const live = [tally({}), tally({ type: 'payment.booked' })]
    const oldest = new Map([['pay-svc', NOW - 20 * MINUTE]])
    const found = figures({ live, oldest, inflow: new Map([['pay-svc', 4]]) })
    expect(found[`oldest of pay-svc > ${10 * MINUTE}`]).toBe(20 * MINUTE)
    expect(found['inflow of pay-svc > 10']).toBe(4)
  })

  it('are how much waits for a service, by the rule of the service', () => {
    expect(figures({ waiting: new Map([['pay-svc', { waiting: 1200 }]]) })).toEqual({
      'lag of pay-svc > 1000': 1200,
    })
  })

  it('are how long the oldest waits, unknown where nobody tells, and nothing where none does', () => {
    const age = (waits: Waits) => {
      const alert = '{ lagAge: { above: 10m } }'
      const asked = readRules(`version: 1\ndefaults: { alerts: ${alert} }\n`, 'test.yaml', {})
      const all = readingsOf(asked, seen({ waiting: new Map([['pay-svc', waits]]) }))
      return all.find(({ alert: { metric } }) => metric === 'lagAge')?.figure
    }
    expect(age({ waiting: 2, oldest: NOW - 3 * MINUTE })).toBe(3 * MINUTE)
    expect(age({ waiting: 2, oldest: NOW + 5 })).toBe(0)
    expect(age({ waiting: 2 })).toBeUndefined()
    expect(age({ waiting: 0 })).toBe(0)
  })

  it('are shares of what services did, and silent about too few', () => {
    const pace = {
      ...NO_PACE,
      attempts: 90,
      retries: 9,
      duplicates: 10,
      batches: 20,
      batchTimeouts: 2,
      criticalBatches: 1,
    }
    expect(figures({ paces: new Map([['mail-svc', pace]]) })).toMatchObject({
      'retryRate of mail-svc > 0.1': 0.1,
      'duplicates of mail-svc > 0.2': 0.1,
      'batchTimeouts of mail-svc > 0.05': 0.1,
      'criticalBatches of mail-svc > 0': 1,
    })
    const few = { ...NO_PACE, attempts: 1, retries: 1, duplicates: 2, batches: 9, batchTimeouts: 9 }
    expect(figures({ paces: new Map([['mail-svc', few]]) })).toEqual({
      'retryRate of mail-svc > 0.1': undefined,
      'duplicates of mail-svc > 0.2': 2 / 3,
      'batchTimeouts of mail-svc > 0.05': undefined,
      'criticalBatches of mail-svc > 0': 0,
    })
  })

  it('say how long a breaker has not been closed', () => {
    expect(figures({ unwell: new Map([['bank', NOW - 5000]]) })).toEqual({
      [`breakerOpen of bank > ${MINUTE}`]: 5000,
    })
  })
})
