import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { allMatches, bestMatch, covers, matches, overlaps, patternFault } from './pattern.ts'

const word = fc.stringMatching(/^[a-c]{1,3}(\.[a-c]{1,2}){0,2}$/)
const pattern = fc.oneof(
  word,
  word.map((name) => `${name}*`),
  word.map((name) => `${name}.*`),
  fc.constant('*'),
)

describe('patterns', () => {
  it('match a name exactly, or its beginning', () => {
    expect(matches('ml.run.started', 'ml.run.started')).toBe(true)
    expect(matches('ml.run', 'ml.run.started')).toBe(false)
    expect(matches('ml.run.*', 'ml.run.started')).toBe(true)
    expect(matches('ml.run.*', 'ml.running')).toBe(false)
    expect(matches('*', 'anything')).toBe(true)
  })

  it('prefer the exact name to the longest beginning to the star', () => {
    const patterns = ['*', 'ml.*', 'ml.run.started', 'ml.run.*']
    expect(bestMatch(patterns, 'ml.run.started')).toBe('ml.run.started')
    expect(bestMatch(patterns, 'ml.run.ended')).toBe('ml.run.*')
    expect(bestMatch(patterns, 'ml.trial')).toBe('ml.*')
    expect(bestMatch(patterns, 'ui.command')).toBe('*')
    expect(bestMatch(['ml.*'], 'ui.command')).toBeUndefined()
    expect(allMatches(patterns, 'ml.run.started')).toEqual(['ml.run.started', 'ml.run.*', 'ml.*', '*'])
  })

  it('are refused with a reason when a star stands elsewhere, or there is nothing to match', () => {
    expect(patternFault('todo.task.created')).toBeUndefined()
    expect(patternFault('todo.*')).toBeUndefined()
    expect(patternFault('*')).toBeUndefined()
    expect(patternFault('')).toMatch(/empty/)
    expect(patternFault('todo.*.created')).toMatch(/star/)
    expect(patternFault('**')).toMatch(/star/)
    expect(patternFault('todo task')).toMatch(/white space/)
    expect(patternFault('todo\u0000')).toMatch(/control/)
    expect(patternFault('x'.repeat(255))).toBeUndefined()
    expect(patternFault('x'.repeat(256))).toBe('is longer than 255 characters')
  })

  it('the best match is one that matches, and no other match is more specific', () => {
    fc.assert(
      fc.property(fc.array(pattern, { maxLength: 8 }), word, (patterns, name) => {
        const best = bestMatch(patterns, name)
        const matching = patterns.filter((each) => matches(each, name))
        if (best === undefined) return matching.length === 0
        return matching.includes(best) && matching.every((each) => best === name || covers(each, best))
      }),
    )
  })

  it('the order in which patterns are written makes no difference', () => {
    fc.assert(
      fc.property(fc.uniqueArray(pattern), word, (patterns, name) => {
        expect(allMatches([...patterns].reverse(), name)).toEqual(allMatches(patterns, name))
      }),
    )
  })

  it.each([
    // [a, b, a covers b, b covers a, they overlap]
    ['ml.run', 'ml.run', true, true, true],
    ['ml.run', 'ml.trial', false, false, false],
    ['ml.run', 'ml.run.started', false, false, false],
    ['ml.*', 'ml.run', true, false, true],
    ['ml.*', 'ml.run.*', true, false, true],
    ['*', 'ml.*', true, false, true],
    ['ml.*', 'ui.*', false, false, false],
    ['ml.*', 'ml', false, false, false],
  ])('%s and %s', (a, b, over, under, overlap) => {
    expect([covers(a, b), covers(b, a), overlaps(a, b)]).toEqual([over, under, overlap])
  })

  it('covers and overlaps say what matching would', () => {
    fc.assert(
      fc.property(pattern, pattern, word, (a, b, name) => {
        if (covers(a, b) && matches(b, name)) expect(matches(a, name)).toBe(true)
        if (matches(a, name) && matches(b, name)) expect(overlaps(a, b)).toBe(true)
        expect(overlaps(a, b)).toBe(overlaps(b, a))
      }),
    )
  })
})
