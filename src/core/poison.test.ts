import { describe, expect, it } from 'vitest'
import { course, failed, failure, RULES, sighting, succeeded } from '../../test/poison.ts'
import type { Category } from './failure.ts'
import { freshPoison, type PoisonSignal, signatureOf } from './poison.ts'

const steps = (...list: (readonly [number, PoisonSignal])[]) => course(list).found.map(({ step }) => step)

describe('a message is poison', () => {
  it('with its third failure of one type within a minute, while others succeed', () => {
    const { found, state } = course([
      [0, failed('bad')],
      [500, succeeded('good')],
      [1000, failed('bad')],
      [3000, failed('bad')],
    ])
    expect(found).toEqual([
      {
        step: 4,
        kind: 'handler',
        signature: signatureOf(failure(), sighting('bad')),
        because: 'failed 3 times with TypeError within 3000 ms, while others succeeded',
      },
    ])
    expect(state, 'and is forgotten').toEqual(freshPoison)
  })

  it('carries the kind of its failure, for the name of the quarantine', () => {
    const kinds = (['schema', 'business', 'integration', 'timeout'] as const).map((kind) => {
      const each = failed('bad', { kind })
      return course([
        [0, each],
        [1, succeeded('good')],
        [2, each],
        [3, each],
      ]).found[0]?.kind
    })
    expect(kinds).toEqual(['schema', 'business', 'integration', 'timeout'])
  })

  it('as often as the rules say', () => {
    const rules = { ...RULES, failures: 5 }
    const list = [0, 10, 20, 30, 40].map((at) => [at, failed('bad')] as const)
    expect(course([list[0]!, [1, succeeded('good')], ...list.slice(1)], rules).found).toMatchObject([
      { step: 6 },
    ])
    expect(course([[0, failed('bad')]], { ...RULES, failures: 1 }).found).toMatchObject([
      { step: 1, because: 'failed with TypeError' },
    ])
  })

  it('when the process died on it three times, whoever else succeeds', () => {
    const crashed = (crashes: number): PoisonSignal => ({ is: 'crashed', what: sighting('bad'), crashes })
    expect(
      course([
        [0, crashed(1)],
        [90_000, crashed(2)],
      ]).found,
    ).toEqual([])
    expect(
      course([
        [0, failed('bad')],
        [999_999, crashed(3)],
      ]),
    ).toMatchObject({
      found: [{ step: 2, kind: 'crash', because: 'the process died 3 times on it' }],
      state: freshPoison,
    })
  })

  it('also by failures of kind crash, whatever their category', () => {
    const crash = failed('bad', { category: 'transient', kind: 'crash' })
    expect(steps([0, crash], [1, succeeded('good')], [2, crash], [3, crash])).toEqual([4])
  })

  it('with a later failure, when others only began to succeed after the third', () => {
    const list = [10, 1000, 3000].map((at) => [at, failed('bad')] as const)
    expect(course([...list, [4000, succeeded('good')], [5000, failed('bad')]]).found).toMatchObject([
      { step: 5, because: 'failed 3 times with TypeError within 4000 ms, while others succeeded' },
    ])
  })

  it('by crashes alone: suspects beside it stay', () => {
    const { found, state } = course([
      [0, failed('bad')],
      [1, failed('other')],
      [2, failed('bad', {}, { handler: 'h2' })],
      [3, { is: 'crashed', what: sighting('bad'), crashes: 3 }],
    ])
    expect(found).toMatchObject([{ signature: signatureOf({ name: 'Crash' }, sighting('bad')) }])
    expect(state.suspects.map(({ message, handler }) => [message, handler])).toEqual([
      ['other', 'billing/order.placed'],
      ['bad', 'h2'],
    ])
  })

  it('under a signature that stays the same for ever: it is stored', () => {
    expect(signatureOf({ name: 'TypeError', code: 'E1' }, sighting('bad'))).toBe('s1-0c2056c83aa904d7')
  })

  it('while others go on untouched', () => {
    const { found, state } = course([
      [0, failed('bad')],
      [1, failed('other')],
      [2, succeeded('good')],
      [3, failed('bad')],
      [4, failed('other')],
      [5, failed('bad')],
    ])
    expect(found).toMatchObject([{ step: 6 }])
    expect(state.suspects).toMatchObject([{ message: 'other', at: [1, 4] }])
  })
})

describe('a message is not poison', () => {
  it('in an outage: nobody else succeeds, or only before it began', () => {
    const all = ['a', 'b', 'c'].flatMap((message) =>
      [0, 1000, 3000].map((at) => [at, failed(message)] as const),
    )
    expect(steps(...all)).toEqual([])
    expect(
      steps([0, succeeded('good')], [10, failed('a')], [1000, failed('a')], [3000, failed('a')]),
    ).toEqual([])
    expect(
      steps([10, failed('a')], [10, succeeded('good')], [1000, failed('a')], [3000, failed('a')]),
    ).toEqual([])
  })

  it('when another handler succeeds, not its own', () => {
    const elsewhere = succeeded('good', 'billing/order.cancelled')
    expect(steps([0, failed('a')], [1, elsewhere], [2, failed('a')], [3, failed('a')])).toEqual([])
    const there = failed('b', {}, { handler: 'billing/order.cancelled' })
    expect(
      steps([0, failed('a')], [0, there], [1, elsewhere], [2, failed('a')], [3, failed('a')], [4, there]),
      'although that one has a suspect too',
    ).toEqual([])
  })

  it('when its failures lie more than a minute apart', () => {
    const list = (last: number) =>
      steps([0, failed('a')], [10_000, failed('a')], [20_000, succeeded('good')], [last, failed('a')])
    expect(list(59_999)).toEqual([4])
    expect(list(60_000)).toEqual([])
  })

  it('when the success is as old as a failure that no longer counts', () => {
    expect(
      steps(
        [0, failed('a')],
        [1000, succeeded('good')],
        [2000, failed('a')],
        [61_000, failed('a')],
        [61_500, failed('a')],
      ),
    ).toEqual([])
  })

  it.each([
    ['the type', { name: 'RangeError' }, {}],
    ['the code', { code: 'E2' }, {}],
    ['the queue', {}, { queue: 'returns' }],
    ['the payload: it was mended', {}, { payload: 'another' }],
  ])('when %s changes', (_, error, where) => {
    expect(
      steps([0, failed('a')], [1, succeeded('good')], [2, failed('a')], [3, failed('a', error, where)]),
    ).toEqual([])
  })

  it('when two messages of the same payload fail', () => {
    const twin = { payload: 'same' }
    expect(
      steps(
        [0, failed('a', {}, twin)],
        [1, succeeded('good')],
        [2, failed('b', {}, twin)],
        [3, failed('a', {}, twin)],
        [4, failed('b', {}, twin)],
      ),
    ).toEqual([])
  })

  it('by failures that do not count, unless the rules add them', () => {
    for (const category of ['transient', 'rate-limited', 'permanent'] as Category[]) {
      const each = failed('a', { category })
      const list = [
        [0, each],
        [1, succeeded('good')],
        [2, each],
        [3, each],
      ] as const
      expect(course(list).found).toEqual([])
      expect(course(list, { ...RULES, categories: [category] }).found).toMatchObject([{ step: 4 }])
    }
  })

  it('once it succeeded', () => {
    expect(
      steps(
        [0, failed('a')],
        [1, succeeded('good')],
        [2, failed('a')],
        [3, succeeded('a')],
        [4, failed('a')],
      ),
    ).toEqual([])
  })
})
