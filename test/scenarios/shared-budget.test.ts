import { describe, expect, it } from 'vitest'
import type { Board } from '../../src/contracts/board.ts'
import { world } from './several.ts'

const BURST = 6
const PER_SECOND = 3
const BUDGET = `breaker: none, budget: { ratio: 10%, perSecond: ${PER_SECOND}, burst: ${BURST} }`

describe('a retry budget that three processes share', () => {
  it('bounds the retries of all of them together, and fails nothing', async () => {
    const { all, clock, close, total } = await world(3, { crm: BUDGET })
    const began = clock.now()
    for (const each of all) {
      each.up = false
      await each.send(20)
    }
    for (const seconds of [1, 5, 20, 60]) {
      await clock.advance(seconds * 1000)
      const passed = (clock.now() - began) / 1000 + 2.5
      expect(total() - 60).toBeLessThanOrEqual(BURST + 0.1 * 60 + PER_SECOND * passed)
    }
    // and it is used: the bound is no stand-still
    expect(total() - 60).toBeGreaterThan(PER_SECOND * 60)
    for (const each of all) each.up = true
    await clock.advance(5 * 60_000)
    expect(all.map(({ done }) => done())).toEqual([20, 20, 20])
    await close()
  })

  it('brings no new tokens by starting more processes', async () => {
    const { all, clock, close, start } = await world(1, {
      crm: 'breaker: none, budget: { ratio: 0%, perSecond: 0, burst: 6 }',
    })
    const late = [await start('q1'), await start('q2')]
    await clock.advance(2000)
    for (const each of [...all, ...late]) {
      each.up = false
      await each.send(10)
    }
    await clock.advance(60_000)
    const calls = [...all, ...late].reduce((sum, each) => sum + each.calls, 0)
    expect(calls - 30).toBeGreaterThan(0)
    expect(calls - 30).toBeLessThanOrEqual(6)
    for (const { app } of late) await clock.runUntil(app.drain())
    await close()
  })

  it('gives the share of a process that is gone to those that are left', async () => {
    const { all, clock, close } = await world(3, { crm: BUDGET })
    for (const each of all) {
      each.up = false
      await each.send(20)
    }
    await clock.advance(10_000)
    const [left, ...gone] = all
    for (const { app } of gone) await clock.runUntil(app.drain())
    await clock.advance(20_000)
    const before = left!.calls
    await clock.advance(30_000)
    // alone it has all of it, where a third was its share
    expect(left!.calls - before).toBeGreaterThan(PER_SECOND * 30 * 0.8)
    expect(left!.calls - before).toBeLessThanOrEqual(BURST + PER_SECOND * 30)
    await close()
  })

  it('is a budget of its own for each while there is no board', async () => {
    const none = (): Board => ({
      post: () => Promise.reject(new Error('no board')),
      read: () => Promise.reject(new Error('no board')),
    })
    const { all, clock, total } = await world(3, { crm: BUDGET, board: none })
    for (const each of all) {
      each.up = false
      await each.send(5)
    }
    await clock.advance(10_000)
    expect(total()).toBeGreaterThan(15)
    for (const each of all) each.up = true
    await clock.advance(60_000)
    expect(all.map(({ done }) => done())).toEqual([5, 5, 5])
  })
})

it('calls to a dependency that is down stay within budget and probes, over all processes', async () => {
  const { all, clock, close, total } = await world(3, {
    crm: `breaker: { failures: 3, open: 30s, probes: 1 }, budget: { ratio: 0%, perSecond: 1, burst: 5 }`,
  })
  for (const each of all) {
    each.up = false
    await each.send(20)
  }
  await clock.advance(2000)
  const before = total()
  const minutes = 20
  await clock.advance(minutes * 60_000)
  // every half minute one probe over all
  expect(total() - before).toBeLessThanOrEqual(minutes * 2 + 1)
  for (const each of all) each.up = true
  await clock.advance(5 * 60_000)
  expect(all.map(({ done }) => done())).toEqual([20, 20, 20])
  await close()
})
