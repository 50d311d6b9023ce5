import { beforeAll, describe, expect, it } from 'vitest'
import { loadedDice } from '../testing/dice.ts'
import { delayOf, type Roll } from './backoff.ts'
import type { Backoff, Jitter } from './policy.ts'

/**
 * A hundred clients change one row under an optimistic lock: each reads its version, writes, and when another was faster
 * waits by its backoff and begins anew. Messages take about 10 ms. Published for it, with 5 ms doubling to 2 s, calls and
 * the time until all were through:
 *
 *   full 796 / 4.9 s · half 812 / 6.7 s · decorrelated 999 / 4.6 s · no jitter 1857 / 63 s · no backoff 2423 / 2.0 s
 */

const CLIENTS = 100
const RUNS = 20

const exponential = (jitter: Jitter): Backoff => ({
  kind: 'exponential',
  initial: 5,
  multiplier: 2,
  max: 2000,
  firstExponent: 1,
  jitter,
})

const BACKOFFS = {
  full: exponential({ kind: 'full' }),
  half: exponential({ kind: 'half' }),
  decorrelated: { kind: 'decorrelated', initial: 5, multiplier: 3, max: 2000 },
  'no jitter': exponential({ kind: 'none' }),
  'no backoff': { kind: 'none' },
} as const satisfies Record<string, Backoff>

/** What happens when, the earliest first; of two at once the one that was said first. */
const agenda = () => {
  const heap: { at: number; order: number; run: () => void }[] = []
  let said = 0
  const before = (i: number, j: number) => heap[i]!.at - heap[j]!.at || heap[i]!.order - heap[j]!.order
  const swap = (i: number, j: number) => {
    ;[heap[i], heap[j]] = [heap[j]!, heap[i]!]
  }
  return {
    say: (at: number, run: () => void) => {
      heap.push({ at, order: said++, run })
      for (let i = heap.length - 1; i > 0 && before(i, (i - 1) >> 1) < 0; i = (i - 1) >> 1)
        swap(i, (i - 1) >> 1)
    },
    next: () => {
      if (heap.length === 0) return undefined
      swap(0, heap.length - 1)
      const first = heap.pop()!
      for (let i = 0; ; ) {
        const child = 2 * i + 2 < heap.length && before(2 * i + 2, 2 * i + 1) < 0 ? 2 * i + 2 : 2 * i + 1
        if (child >= heap.length || before(i, child) < 0) return first
        swap(i, child)
        i = child
      }
    },
  }
}

const contend = (backoff: Backoff, roll: Roll): { calls: number; took: number } => {
  const { say, next } = agenda()
  let now = 0
  let version = 0
  let calls = 0
  // about normal, mean 10 and deviation 2, by the sum of twelve even draws
  const travel = () =>
    Math.max(0, 10 + 2 * (Array.from({ length: 12 }, roll).reduce((sum, each) => sum + each, 0) - 6))
  const later = (wait: number, run: () => void) => say(now + wait, run)
  const client = (failed: number, previous?: number): void => {
    later(travel(), () => {
      const seen = version
      later(travel() + travel(), () => {
        calls++
        const wins = seen === version
        if (wins) version++
        later(travel(), () => {
          if (wins) return
          const delay = delayOf(backoff, failed + 1, roll, previous)
          later(delay, () => client(failed + 1, delay))
        })
      })
    })
  }
  for (let i = 0; i < CLIENTS; i++) client(0)
  for (let each = next(); each; each = next()) {
    now = each.at
    each.run()
  }
  return { calls, took: now }
}

const mean = (numbers: readonly number[]) => numbers.reduce((sum, each) => sum + each, 0) / numbers.length

type Results = Record<keyof typeof BACKOFFS, { calls: number; took: number }>
let results = {} as Results

beforeAll(() => {
  results = Object.fromEntries(
    Object.entries(BACKOFFS).map(([name, backoff]) => {
      const runs = Array.from({ length: RUNS }, (_, i) => contend(backoff, loadedDice(i + 1).next))
      return [name, { calls: mean(runs.map(({ calls }) => calls)), took: mean(runs.map(({ took }) => took)) }]
    }),
  ) as Results
})

const inOrderOf = (figure: 'calls' | 'took') =>
  Object.entries(results)
    .sort(([, one], [, other]) => one[figure] - other[figure])
    .map(([name]) => name)

const PUBLISHED = {
  full: { calls: 796, took: 4900 },
  half: { calls: 812, took: 6700 },
  decorrelated: { calls: 999, took: 4600 },
  'no jitter': { calls: 1857, took: 63_000 },
  'no backoff': { calls: 2423, took: 2000 },
}

describe('a hundred clients contending for one row', () => {
  it('call in the published order', () => {
    expect(inOrderOf('calls')).toEqual(['full', 'half', 'decorrelated', 'no jitter', 'no backoff'])
  })

  it('are through in the published order, without jitter last by far', () => {
    expect(inOrderOf('took')).toEqual(['no backoff', 'decorrelated', 'full', 'half', 'no jitter'])
    expect(results['no jitter'].took).toBeGreaterThan(5 * results.half.took)
  })

  it('need about as many calls, and as long, as was published', () => {
    for (const [name, published] of Object.entries(PUBLISHED)) {
      const { calls, took } = results[name as keyof typeof PUBLISHED]
      expect(Math.abs(calls / published.calls - 1), `calls with ${name}`).toBeLessThan(0.05)
      // the published half is capped before its jitter, ours after it: those at the cap all wait the same two seconds
      if (name !== 'half') expect(Math.abs(took / published.took - 1), `time with ${name}`).toBeLessThan(0.1)
    }
  })
})
