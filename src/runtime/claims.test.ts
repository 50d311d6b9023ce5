import { describe, expect, it } from 'vitest'
import type { LedgerKey } from '../core/ledger.ts'
import { openMemory } from '../testing/index.ts'
import { testTools } from '../testing/tools.ts'
import { claimAll } from './claims.ts'

const key = (id: string, attempt: number, generation = 0): LedgerKey => ({
  service: 's',
  id,
  hash: 'h',
  attempt,
  generation,
  ttl: 60_000,
})

const claimsOf = async (keys: readonly (LedgerKey | undefined)[]) => {
  const tools = testTools()
  const { store } = await openMemory('memory:', tools)
  const until = () => tools.clock.now() + 1000
  const claims = await claimAll(store.ledger, keys, until, tools, new AbortController().signal)
  return claims?.map((claim) => claim?.is)
}

describe('claims of what came together', () => {
  it('an original beside its own copy is stale, whichever came first', async () => {
    expect(await claimsOf([key('a', 1), key('b', 1), key('a', 2)])).toEqual(['stale', 'fresh', 'fresh'])
    expect(await claimsOf([key('a', 2), key('b', 1), key('a', 1)])).toEqual(['fresh', 'fresh', 'stale'])
  })

  it('so is an earlier life beside a replay', async () => {
    expect(await claimsOf([key('a', 5, 0), key('a', 1, 1)])).toEqual(['stale', 'fresh'])
  })

  it('each has its own answer, and what needs no claim has none', async () => {
    expect(await claimsOf([undefined, key('a', 1), undefined, key('b', 3), key('a', 1)])).toEqual([
      undefined,
      'fresh',
      undefined,
      'fresh',
      'busy',
    ])
    expect(await claimsOf([undefined])).toEqual([undefined])
  })
})
