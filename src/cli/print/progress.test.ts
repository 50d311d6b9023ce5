import { expect, it } from 'vitest'
import { progressLine } from './progress.ts'

it('says how many of how many, and how long it will take once that can be guessed', () => {
  expect(progressLine(0, 40_000, 'repaired', 0)).toBe(`[${' '.repeat(24)}] 0 of 40,000 repaired`)
  expect(progressLine(10_000, 40_000, 'repaired', 900)).toMatch(/10,000 of 40,000 repaired$/)
  expect(progressLine(10_000, 40_000, 'repaired', 20_000)).toBe(
    `[${'█'.repeat(6)}${' '.repeat(18)}] 10,000 of 40,000 repaired, about 1 min left`,
  )
  expect(progressLine(40_000, 40_000, 'repaired', 80_000)).toBe(
    `[${'█'.repeat(24)}] 40,000 of 40,000 repaired`,
  )
})

it('does without a bar where nobody knows how many there are, and holds more than were expected', () => {
  expect(progressLine(1200, undefined, 'lines checked', 5000)).toBe('1,200 lines checked')
  expect(progressLine(7, 5, 'written', 5000)).toBe(`[${'█'.repeat(24)}] 7 of 5 written`)
  expect(progressLine(0, 0, 'written', 5000)).toBe(`[${'█'.repeat(24)}] 0 of 0 written`)
})
