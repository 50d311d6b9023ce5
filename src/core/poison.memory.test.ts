import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { course, failed, failure, RULES, sighting, succeeded } from '../../test/poison.ts'
import { freshPoison, MOST_SUSPECTS, type PoisonSignal, poison, signatureOf } from './poison.ts'

describe('after a fix', () => {
  const before = course([
    [0, failed('a')],
    [0, failed('b', {}, { handler: 'h2' })],
    [1, succeeded('good')],
    [2, failed('a')],
  ]).state
  const signature = signatureOf(failure(), sighting('a'))

  it('counting starts anew for its signature', () => {
    const { state } = poison(before, { is: 'mended', signature }, 3, RULES)
    expect(state.suspects.map(({ message }) => message)).toEqual(['b'])
    expect(
      course(
        [
          [4, failed('a')],
          [5, succeeded('good')],
          [6, failed('a')],
        ],
        RULES,
        state,
      ).found,
    ).toEqual([])
  })

  it('or for all of a handler', () => {
    const { state } = poison(before, { is: 'mended', handler: 'h2' }, 3, RULES)
    expect(state.suspects.map(({ message }) => message)).toEqual(['a'])
  })

  it('and nothing changes where nothing was counted', () => {
    expect(poison(before, { is: 'mended', handler: 'other' }, 3, RULES).state).toBe(before)
  })
})

describe('the memory', () => {
  it('forgets what is older than the rules look, with the next failure or success', () => {
    const old = course([[0, failed('old')]]).state
    expect(poison(old, failed('new'), 60_000, RULES).state.suspects).toMatchObject([{ message: 'new' }])
    expect(poison(old, succeeded('good'), 60_000, RULES).state).toEqual(freshPoison)
    expect(poison(old, succeeded('good'), 59_999, RULES).state.suspects).toHaveLength(1)
  })

  it('holds no more than so many, those that failed last', () => {
    const list = Array.from({ length: MOST_SUSPECTS + 20 }, (_, i) => [i, failed(`m${i}`)] as const)
    const { suspects } = course([...list.slice(0, 30), [30, failed('m0')], ...list.slice(30)]).state
    expect(suspects).toHaveLength(MOST_SUSPECTS)
    expect(suspects[0]?.message).toBe('m21')
    expect(suspects.at(-1)?.message).toBe(`m${MOST_SUSPECTS + 19}`)
  })

  it('forgets only the message that succeeded, and only before its own handler', () => {
    const { state } = course([
      [0, failed('a')],
      [0, failed('b')],
      [0, failed('a', {}, { handler: 'h2' })],
      [1, succeeded('a')],
    ])
    expect(state.suspects.map(({ message, handler }) => [message, handler])).toEqual([
      ['b', 'billing/order.placed'],
      ['a', 'h2'],
    ])
  })

  it('is left as it is by a success that tells nothing', () => {
    const { state } = course([[0, failed('a')]])
    expect(poison(state, succeeded('good', 'other'), 1, RULES).state).toBe(state)
    expect(poison(freshPoison, succeeded('good'), 1, RULES).state).toBe(freshPoison)
  })

  const signals = fc.record({
    step: fc.oneof(fc.nat(5000), fc.integer({ min: -2000, max: 90_000 })),
    signal: fc.oneof(
      fc.constantFrom('a', 'b', 'c').map((message) => failed(message)),
      fc.constantFrom('a', 'b', 'c').map((message) => failed(message, { name: 'RangeError' })),
      fc.constantFrom('a', 'b', 'd').map((message) => succeeded(message)),
      fc.constant<PoisonSignal>({ is: 'mended', handler: 'billing/order.placed' }),
      fc
        .integer({ min: 1, max: 4 })
        .map((crashes): PoisonSignal => ({ is: 'crashed', what: sighting('c'), crashes })),
    ),
  })

  it('is plain data: stored and read back after each step it goes on the same', () => {
    fc.assert(
      fc.property(fc.array(signals, { maxLength: 40 }), (list) => {
        let state = freshPoison
        let now = 0
        for (const { step, signal } of list) {
          now += step
          const one = poison(state, signal, now, RULES)
          expect(poison(JSON.parse(JSON.stringify(state)), signal, now, RULES)).toEqual(one)
          state = one.state
          for (const { at } of state.suspects) expect(at.length).toBeLessThanOrEqual(RULES.failures)
        }
      }),
    )
  })

  it('finds by failures only what failed three times since it was last forgotten, with another success in between', () => {
    fc.assert(
      fc.property(fc.array(signals, { maxLength: 60 }), (list) => {
        let state = freshPoison
        let now = 0
        const log: { at: number; signal: PoisonSignal }[] = []
        for (const { step, signal } of list) {
          now += Math.abs(step)
          log.push({ at: now, signal })
          const answer = poison(state, signal, now, RULES)
          state = answer.state
          if (!answer.poison || signal.is !== 'failed') continue
          const same = log.filter(
            (each) =>
              each.signal.is === 'failed' &&
              each.signal.what.message === signal.what.message &&
              each.signal.failure.name === signal.failure.name &&
              now - each.at < RULES.within,
          )
          expect(same.length).toBeGreaterThanOrEqual(3)
          expect(
            log.some(
              (each) =>
                each.signal.is === 'succeeded' &&
                each.signal.what.message !== signal.what.message &&
                each.at > same.at(-3)!.at,
            ),
          ).toBe(true)
        }
      }),
    )
  })
})
