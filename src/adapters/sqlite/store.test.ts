import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, describe, expect, it } from 'vitest'
import type { LedgerKey } from '../../core/ledger.ts'
import { testTools } from '../../testing/tools.ts'
import { open } from './index.ts'

const folder = mkdtempSync(join(tmpdir(), 'reprieve-store-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let files = 0
const desk = async () => {
  const path = join(folder, `${++files}.db`)
  const tools = testTools()
  const { store } = await open(`sqlite:${path}`, tools)
  const database = new DatabaseSync(path)
  const count = (table: string) => database.prepare(`SELECT count(*) AS n FROM ${table}`).get()!.n
  return { ...store!, tools, count }
}

const key = (id: string, ttl = 10_000): LedgerKey => ({
  service: 'analytics-svc',
  id,
  hash: 'h',
  attempt: 1,
  generation: 0,
  ttl,
})

describe('what may be forgotten', () => {
  it('is forgotten little by little, in commits that are made anyway, and nothing else is', async () => {
    const { ledger, tools, count } = await desk()
    const now = tools.clock.now()
    const keys = (name: string, from: number, to: number, ttl = 10_000) =>
      Array.from({ length: to - from }, (_, n) => key(`${name}-${String(from + n).padStart(4, '0')}`, ttl))
    const work = async (some: readonly LedgerKey[]) => {
      const claims = await ledger.claim(some, tools.clock.now() + 1000)
      const held = claims.flatMap((claim) => (claim.is === 'fresh' ? [claim.held] : []))
      await ledger.finish(held.map((each) => ({ held: each, as: 'done' })))
    }
    await ledger.claim([key('abandoned'), key('claimed')], now + 1000)
    await work(keys('old', 0, 1000))
    await work(keys('lasting', 0, 10, 600_000))
    await tools.clock.advance(20_000)
    expect(count('reprieve_ledger')).toBe(1012)
    // Each batch of 100 lets the walk look at 100 rows: it can't take more, and it comes round.
    const left: number[] = []
    for (let batch = 0; batch < 24; batch++) {
      await work(keys('young', batch * 100, batch * 100 + 100, 600_000))
      left.push((count('reprieve_ledger') as number) - batch * 100 - 100)
    }
    expect(Math.max(...left.map((rest, at) => (left[at - 1] ?? 1012) - rest))).toBeLessThanOrEqual(200)
    expect(left.at(-1)).toBe(12)
    expect(
      await ledger.claim([key('lasting-0003'), key('claimed'), key('old-0001')], now + 60_000),
    ).toMatchObject([{ is: 'done' }, { is: 'fresh', crashes: 1 }, { is: 'fresh', crashes: 0 }])
  })

  it('leaves the version of a board entry standing long enough to tell a new one from it', async () => {
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

describe('letters', () => {
  it('can not go on after one that is not there', async () => {
    const { letters } = await desk()
    await expect(letters.find({}, 10, 'gone')).rejects.toMatchObject({ code: 'unknown_letter' })
  })
})

describe('after the last close', () => {
  it('the store says that it is closed, and does not open the file again', async () => {
    const { transport, store } = await open(`sqlite:${join(folder, 'closed.db')}`, testTools())
    await store!.close()
    await store!.close()
    await store!.board.post('still', 'open: the transport is', 1000)
    await transport.close()
    await expect(store!.board.post('a', 1, 1)).rejects.toMatchObject({ code: 'closed' })
    await expect(store!.letters.count({})).rejects.toMatchObject({ code: 'closed' })
  })
})
