import { describe, expect, it } from 'vitest'
import { createBreaker } from '../../src/index.ts'
import { policyOf } from '../../src/runtime/retry-policy.ts'
import { runsItsPrograms } from './programs.ts'

describe('docs/retry.md', () => {
  const page = runsItsPrograms('docs/retry.md', ['first.ts', 'outcomes.ts', 'kept.ts'])

  it('tells the defaults as they are', () => {
    const row = (name: string) =>
      page
        .split('\n')
        .find((line) => line.startsWith(`| \`${name}\` |`))
        ?.split('|')
        .slice(2, -1)
        .map((cell) => cell.trim())
    const { rules } = createBreaker()
    expect(row('failures')?.[0]).toBe(`${rules.failures}`)
    expect(row('open')?.[0]).toBe(`${rules.open / 1000} s`)
    expect(row('probes')?.[0]).toBe(`${rules.probes}`)
    expect(row('successes')?.[0]).toBe(`${rules.successes}`)
    for (const [name, jitter] of [
      ['bare', '±20 %'],
      ['brisk', 'full: anything from 0 to the delay'],
    ] as const) {
      const { backoff, retries } = policyOf(name)
      if (backoff.kind !== 'exponential') throw new Error('exponential')
      expect(row(name)).toEqual([
        `${backoff.initial} ms`,
        `×${backoff.multiplier}`,
        `${backoff.max / 1000} s`,
        `${retries + 1}`,
        jitter,
      ])
    }
  })
})
