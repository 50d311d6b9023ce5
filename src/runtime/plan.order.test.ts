import { describe, expect, it } from 'vitest'
import type { Can } from '../contracts/transport.ts'
import { readRules } from '../rules/index.ts'
import { planService } from './plan.ts'

const can = (order: Can['order']): Can => ({
  later: 1000,
  late: () => 0,
  order,
  lease: false,
  except: false,
  claims: false,
  patterns: true,
  fresh: true,
  urgent: true,
  unheard: 'refused',
})
const book = readRules(
  `version: 1
topics: { stock: ['stock.*'] }
services: { stock-svc: { events: { stock.moved: { order: key } } } }`,
  'test.yaml',
)
const plan = (patterns: readonly string[], order: Can['order'], companion?: Can['order']) =>
  planService(
    book,
    'stock-svc',
    patterns,
    { name: 'broker', can: can(order) },
    undefined,
    undefined,
    companion && { can: can(companion) },
  )

describe('order by key is planned', () => {
  it('where the transport keeps it, or keeps the order of arrival beside a store that does', () => {
    expect(plan(['stock.moved'], 'key').subscriptions).toMatchObject([{ order: 'key' }])
    expect(plan(['stock.moved'], 'owner', 'key').subscriptions).toMatchObject([{ order: 'key' }])
    expect(plan(['stock.noted'], 'owner').subscriptions).toMatchObject([{ order: 'none' }])
  })

  it('for a handler of a pattern too, where a row within it asks', () => {
    expect(plan(['stock.*'], 'key').subscriptions).toMatchObject([
      { order: 'key', ordering: { types: ['stock.moved'], others: ['stock.*'] } },
    ])
    expect(() => plan(['stock.*'], 'none')).toThrow(/order: key on stock\.moved/)
  })

  it('and refused where nothing can keep it, with what would', () => {
    expect(() => plan(['stock.moved'], 'owner')).toThrow(
      expect.objectContaining({ code: 'no_order', fix: expect.stringContaining('store: postgres:') }),
    )
    expect(() => plan(['stock.moved'], 'owner', 'none')).toThrow(
      expect.objectContaining({ code: 'no_order' }),
    )
    expect(() => plan(['stock.moved'], 'none', 'key')).toThrow(expect.objectContaining({ code: 'no_order' }))
  })
})
