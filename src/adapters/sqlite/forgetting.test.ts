import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, describe, expect, it } from 'vitest'
import type { LedgerKey } from '../../core/ledger.ts'
import { testTools } from '../../testing/tools.ts'
import { open } from './index.ts'

const folder = mkdtempSync(join(tmpdir(), 'reprieve-forgetting-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let files = 0
const desk = async () => {
  const path = join(folder, `${++files}.db`)
  const tools = testTools()
  const { store } = await open(`sqlite:${path}`, tools)
  const database = new DatabaseSync(path)
  const { ledger, board } = store!
  const count = (table: string): number =>
    database.prepare(`SELECT count(*) AS n FROM ${table}`).get()!.n as number
  /** Claims and finishes, as a batch of events does. */
  const work = async (keys: readonly LedgerKey[]): Promise<void> => {
    const claims = await ledger.claim(keys, tools.clock.now() + 1000)
    const held = claims.flatMap((claim) => (claim.is === 'fresh' ? [claim.held] : []))
    await ledger.finish(held.map((each) => ({ held: each, as: 'done' })))
  }
  return { ledger, board, tools, count, work }
}

const key = (id: string, ttl = 10_000, service = 'analytics-svc'): LedgerKey => ({
  service,
  id,
  hash: 'h',
  attempt: 1,
  generation: 0,
  ttl,
})

describe('the ledger', () => {
  it('forgets what is past its time, and nothing else', async () => {
    const { ledger, tools, count, work } = await desk()
    const now = tools.clock.now()
    await ledger.claim([key('claimed')], now + 1000)
    await work([...Array.from({ length: 400 }, (_, n) => key(`old-${n}`)), key('lasting', 6_000_000)])
    expect(count('reprieve_ledger')).toBe(402)
    await tools.clock.advance(60_000)
    for (let batch = 0; batch < 20; batch++) {
      await work(Array.from({ length: 100 }, (_, n) => key(`young-${batch}-${n}`, 6_000_000)))
      await tools.clock.advance(1000)
    }
    expect(count('reprieve_ledger')).toBe(2002)
    expect(await ledger.claim([key('lasting'), key('claimed'), key('old-1')], now + 90_000)).toMatchObject([
      { is: 'done' },
      { is: 'fresh', crashes: 1 },
      { is: 'fresh', crashes: 0 },
    ])
  })

  it('forgets a claim that nobody came back for in a week', async () => {
    const { ledger, tools, count, work } = await desk()
    await ledger.claim(
      Array.from({ length: 100 }, (_, n) => key(`abandoned-${n}`)),
      tools.clock.now() + 1000,
    )
    await tools.clock.advance(8 * 24 * 3_600_000)
    await work(Array.from({ length: 200 }, (_, n) => key(`b-${n}`)))
    await work(Array.from({ length: 200 }, (_, n) => key(`c-${n}`)))
    expect(count('reprieve_ledger')).toBe(400)
  })

  it('stays small for ever, whatever order ids come in and however long services remember', async () => {
    const { tools, count, work } = await desk()
    let made = 0
    const batch = () => {
      const n = () => String(made++).padStart(9, '0')
      const inOrder = Array.from({ length: 20 }, () => key(n(), 60_000, 'a'))
      const inNoOrder = Array.from({ length: 20 }, () => key(n().split('').reverse().join(''), 60_000, 'b'))
      const shortLived = Array.from({ length: 20 }, () => key(n(), 5000, 'c'))
      return [...inOrder, ...inNoOrder, ...shortLived]
    }
    // 60 rows each half second: 20 × 120 of a and of b must be remembered, and 20 × 10 of c.
    const mustRemember = 20 * 120 * 2 + 20 * 10
    let largest = 0
    for (let round = 0; round < 900; round++) {
      await work(batch())
      await tools.clock.advance(500)
      largest = Math.max(largest, count('reprieve_ledger'))
    }
    expect(largest).toBeGreaterThan(mustRemember)
    expect(largest).toBeLessThan(mustRemember * 1.7)
  })
})

describe('the board', () => {
  it('leaves the version of an entry standing long enough to tell a new one from it', async () => {
    const { board, tools, count } = await desk()
    await board.post('probe/smtp', 'one', 1000)
    await tools.clock.advance(1000)
    expect(await board.read('')).toEqual([])
    expect(await board.post('probe/smtp', 'two', 1000, 1)).toBe(false)
    expect(await board.post('probe/smtp', 'two', 1000, 0)).toBe(true)
    expect(await board.read('probe/')).toMatchObject([{ value: 'two', version: 2 }])
    await tools.clock.advance(2 * 3_600_000)
    await board.post('other', true, 1000)
    expect(count('reprieve_board')).toBe(1)
  })
})
