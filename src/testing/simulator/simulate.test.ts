import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { PLANTED } from './planted.ts'
import { type Simulation, simulate } from './simulate.ts'
import { replayCommand, tellFailure } from './tell.ts'

const SEEDS = 5000
const PART = 500
/** Within so many seeds each planted bug is found. */
const ENOUGH = 500

const hashOf = ({ lines }: Simulation): string =>
  createHash('sha256').update(JSON.stringify(lines)).digest('hex')

describe('the simulator', () => {
  it('plays the same seed the same way', async () => {
    for (let seed = 1; seed <= 25; seed++) {
      const first = await simulate(seed)
      expect(hashOf(await simulate(seed)), replayCommand(seed)).toBe(hashOf(first))
      expect(first.lines.length).toBeGreaterThan(10)
    }
  })

  it('says how to play a failing seed again, and what led to it', async () => {
    const { seed, found } = await firstFailure('attempt not counted')
    const told = tellFailure(found!)
    expect(told).toContain(`npm run simulate -- --seed ${seed}`)
    expect(told).toContain('I5')
    expect(told).toMatch(/attempt 1: (flaky|unknown)/)
  })
})

describe('the runtime keeps its promises in every seed', () => {
  for (let from = 1; from <= SEEDS; from += PART) {
    const to = from + PART - 1
    it(`${from} to ${to}`, async () => {
      for (let seed = from; seed <= to; seed++) {
        const result = await simulate(seed)
        if (result.violations.length > 0) throw new Error(tellFailure(result))
      }
    })
  }
})

describe('a planted bug is found', () => {
  it.each(PLANTED.map((plant) => plant.name))('%s', async (name) => {
    const { seed, found } = await firstFailure(name)
    expect(found, `${name} went unnoticed for ${ENOUGH} seeds`).toBeDefined()
    expect((await simulate(seed)).violations).toEqual([])
  })

  it('and is told in the docs', () => {
    const page = readFileSync(join(import.meta.dirname, '../../../docs/simulator.md'), 'utf8')
    const rows = PLANTED.map(({ name, what, breaks }) => `| ${name} | ${what} | ${breaks.join(', ')} |`)
    expect(rows.filter((row) => !page.includes(row))).toEqual([])
    expect(page).toContain(`within ${ENOUGH} seeds`)
  })
})

const firstFailure = async (name: string): Promise<{ seed: number; found: Simulation | undefined }> => {
  const plant = PLANTED.find((each) => each.name === name)!
  for (let seed = 1; seed <= ENOUGH; seed++) {
    const result = await simulate(seed, plant)
    if (result.violations.some(({ law }) => plant.breaks.includes(law))) return { seed, found: result }
  }
  return { seed: 0, found: undefined }
}
