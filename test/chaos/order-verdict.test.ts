import { describe, expect, it } from 'vitest'
import { countOrder } from './order/count.ts'
import { complaints } from './order/verdict.ts'

const RUN = { events: 4, keys: 2, kills: 1 }

/** Each as `key n worker`, in the order in which they happened. */
const judged = (effects: string, over: { left?: number; kills?: number } = {}, ofWorkers = false) => {
  const counted = countOrder(effects.split(', ').map((each) => each.split(' ') as never))
  return complaints({ ...counted, kills: 1, left: 0, seconds: 1, ...over }, { ...RUN, ofWorkers })
}

const WELL = 'k0 0 a, k1 0 b, k1 1 b, k0 1 a'

describe('a run of order by key', () => {
  it('has nothing to answer for where each key was in order and nothing is left', () => {
    expect(judged(WELL)).toEqual([])
  })

  it.each([
    ['one that is missing', 'k0 0 a, k1 0 b, k0 1 a', ['1 keys out of order: k1', '3 effects of 4 events']],
    [
      'two the wrong way round',
      'k0 1 a, k0 0 a, k1 0 b, k1 1 b',
      ['1 keys out of order: k0', '1 effects after a later one of their key'],
    ],
    ['a second effect', `${WELL}, k0 1 b`, ['1 effects doubled, 0 excused by kills']],
    [
      'a second effect after a later one',
      `${WELL}, k0 0 b`,
      ['1 effects after a later one of their key', '1 effects doubled, 0 excused by kills'],
    ],
    ['one worker that did all', WELL.replaceAll('b', 'a'), ['one worker did all']],
  ])('answers for %s', (_, effects, wanted) => {
    expect(judged(effects)).toEqual(wanted)
  })

  it('answers for what is left, and for blows that never fell', () => {
    expect(judged(WELL, { left: 2, kills: 0 })).toEqual([
      '2 still on the broker or in the store',
      'only 0 of 1 blows fell',
    ])
  })

  it('is excused a second effect by the death of a worker', () => {
    expect(judged(`${WELL}, k0 1 b, k1 1 a`, {}, true)).toEqual([])
  })

  it('is excused no more of them than one for each key', () => {
    expect(judged(`${WELL}, k0 1 b, k1 1 a, k1 1 b`, {}, true)).toEqual([
      '3 effects doubled, 2 excused by kills',
    ])
  })
})
