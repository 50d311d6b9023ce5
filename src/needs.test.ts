import { describe, expect, it } from 'vitest'
import { transportFacts } from './cli/rules/transports.ts'
import { needsOf } from './needs.ts'
import { readRules } from './rules/index.ts'

const BOOK = `version: 1
policies:
  long: { backoff: fixed, delay: 1h, jitter: none, retries: 5 }
topics: { orders: ['order.*'] }
services:
  mail-svc:
    concurrency: 2
    window: 10
    deadLetter: { retention: 14d }
    events:
      order.placed: { timeout: 20s, policy: long }
      order.paid: { timeout: 5s, deadLetter: { expire: 3d } }
  quiet-svc: {}
`

describe('what a rule book needs of a transport', () => {
  it('is what its services will subscribe to, with the longest of each time', () => {
    const { needs, findings } = needsOf(readRules(BOOK, 'book.yaml'), transportFacts('kafka'))
    expect(needs.subscriptions).toEqual([
      {
        to: expect.objectContaining({ service: 'mail-svc', topic: 'orders', order: 'none' }),
        attempt: 20_000,
        unsettled: 100_000,
        retries: 5 * 3_600_000,
        retention: 14 * 86_400_000,
      },
    ])
    expect(findings).toEqual([expect.objectContaining({ check: 'service-without-rows', where: 'quiet-svc' })])
  })

  it('is also where others leave their dead letters, for as long as an office may be away, and where it hears of replays', () => {
    const book = readRules('version: 1\nforeign: { shop.dead: { service: shop } }\n', 'book.yaml')
    expect(needsOf(book, transportFacts('kafka')).needs).toEqual({
      subscriptions: [],
      foreign: [{ name: 'shop.dead', keep: 7 * 86_400_000 }],
      receipts: 'reprieve.receipts.000000000000',
    })
  })

  it('tells of a row that no topic carries, and looks at the rest: only a handler for just that could not start', () => {
    const rows = "{ 'x.*': {}, y.done: {} }"
    const book = readRules(`version: 1\nservices: { a: { events: ${rows} } }\n`, 'book.yaml')
    const { needs, findings } = needsOf(book, transportFacts('kafka'))
    expect(needs.subscriptions).toMatchObject([{ to: { service: 'a', topic: 'y.done' } }])
    expect(findings).toEqual([
      expect.objectContaining({
        check: 'rules',
        level: 'risky',
        where: 'a',
        what: expect.stringMatching(/a handler for x\.\* could not start on kafka/),
        fix: expect.stringMatching(/topics:/),
      }),
    ])
  })
})
