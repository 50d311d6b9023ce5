import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Alarm, type AlarmLine, isOver, LOWER, lookAtFigure, QUIET } from './alarm.ts'

const MINUTE = 60_000
const LINE: AlarmLine = { over: '>=', threshold: 100, hold: MINUTE, calm: 10 * MINUTE }

/** What an alarm was in after each look, a minute apart. */
const watch = (figures: readonly (number | undefined)[], line = LINE): readonly Alarm['is'][] => {
  let alarm = QUIET
  return figures.map((figure, minute) => {
    alarm = lookAtFigure(alarm, line, figure, minute * MINUTE)
    return alarm.is
  })
}

describe('an alarm', () => {
  it('is raised when the figure has been over the line for a while, and says since when', () => {
    expect(watch([99, 100, 100])).toEqual(['quiet', 'rising', 'raised'])
    expect(watch([100, 99, 100, 99])).not.toContain('raised')
    const raised = lookAtFigure({ is: 'rising', since: 5 }, LINE, 200, MINUTE + 5)
    expect(raised).toEqual({ is: 'raised', since: 5, at: MINUTE + 5 })
  })

  it('at once where the rules say so', () => {
    expect(watch([100], { ...LINE, hold: 0 })).toEqual(['raised'])
  })

  it('above is not the same as from', () => {
    expect(watch([100], { ...LINE, over: '>', hold: 0 })).toEqual(['quiet'])
    expect(watch([100.5], { ...LINE, over: '>', hold: 0 })).toEqual(['raised'])
  })

  it('ends well below the line at once, near it only after a quiet time', () => {
    expect(watch([100, 100, 79])).toEqual(['rising', 'raised', 'quiet'])
    const near = watch([100, 100, ...Array.from({ length: 11 }, () => 90)])
    expect(near.slice(1, -1).every((is) => is === 'raised')).toBe(true)
    expect(near.at(-1)).toBe('quiet')
    // what is not known is not over the line, and not low either
    expect(watch([100, 100, undefined])).toEqual(['rising', 'raised', 'raised'])
  })

  it('a threshold of nothing ends after the quiet time', () => {
    const line = { ...LINE, over: '>', threshold: 0, hold: 0 } as const
    expect(watch([1, ...Array.from({ length: 11 }, () => 0)], line).at(-1)).toBe('quiet')
  })

  const steps = fc.array(
    fc.record({
      figure: fc.option(fc.integer({ min: 0, max: 200 }), { nil: undefined }),
      wait: fc.integer({ min: 1, max: 5 * MINUTE }),
    }),
    { maxLength: 60 },
  )
  const lines = fc.record({
    over: fc.constantFrom('>', '>='),
    threshold: fc.integer({ min: 0, max: 150 }),
    hold: fc.integer({ min: 0, max: 4 * MINUTE }),
    calm: fc.integer({ min: 0, max: 20 * MINUTE }),
  })

  it('is never raised but by a figure that stayed over the line so long, and never ended while it is', () => {
    fc.assert(
      fc.property(lines, steps, (line, looks) => {
        let alarm = QUIET
        let now = 0
        let overSince: number | undefined
        for (const { figure, wait } of looks) {
          now += wait
          const over = isOver(line, figure)
          overSince = over ? (overSince ?? now) : undefined
          const next = lookAtFigure(alarm, line, figure, now)
          if (next.is === 'raised' && alarm.is !== 'raised') {
            expect(overSince).toBe(next.since)
            expect(now - next.since).toBeGreaterThanOrEqual(line.hold)
          }
          if (alarm.is === 'raised' && next.is !== 'raised') expect(over).toBe(false)
          alarm = next
        }
      }),
    )
  })

  it('does not flap: about the line, with no quiet time as long as asked, one alert is one alert', () => {
    fc.assert(
      fc.property(lines, steps, (line, looks) => {
        const { threshold, calm } = line
        let alarm = QUIET
        let now = 0
        let raises = 0
        let quietSince: number | undefined
        for (const { figure = threshold, wait } of looks) {
          // near the line or over it, and over it again before the quiet time is over
          const near = Math.max(figure, Math.ceil(threshold * LOWER))
          const late = quietSince !== undefined && now + wait - quietSince >= calm
          const shown = late || calm === 0 ? threshold + 1 : near
          now += wait
          quietSince = isOver(line, shown) ? undefined : (quietSince ?? now)
          const next = lookAtFigure(alarm, line, shown, now)
          if (next.is === 'raised' && alarm.is !== 'raised') raises++
          if (alarm.is === 'raised') expect(next.is).toBe('raised')
          alarm = next
        }
        expect(raises).toBeLessThanOrEqual(1)
      }),
    )
  })
})
