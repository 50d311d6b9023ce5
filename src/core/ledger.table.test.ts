import { describe, expect, it } from 'vitest'
import { claimRow, endingOf, finishRow, heldHere, type LedgerKey, type LedgerRow } from './ledger.ts'

const NOW = 1000
const UNTIL = 1500
const key: LedgerKey = { service: 's', id: 'e', hash: 'h', attempt: 2, generation: 1, ttl: 60_000 }
const row = (more: Partial<LedgerRow>): LedgerRow => ({
  hash: 'h',
  state: 'claimed',
  generation: 1,
  attempt: 2,
  token: 7,
  until: NOW + 1,
  crashes: 3,
  ...more,
})

const fresh = (token: number, crashes: number) => ({
  claim: { is: 'fresh', held: { key, token }, crashes },
  row: { hash: 'h', state: 'claimed', generation: 1, attempt: 2, token, until: UNTIL, crashes },
})
const conflict = { claim: { is: 'conflict' } }
const done = { claim: { is: 'done' } }
const stale = { claim: { is: 'stale' } }

describe('a claim of attempt 2 in life 1', () => {
  it.each([
    ['no row', undefined, fresh(1, 0)],
    // forgotten, whatever it says; a claim is never forgotten
    ['free, forgotten', { state: 'free', hash: 'x', until: NOW }, fresh(8, 0)],
    ['done, forgotten', { state: 'done', until: NOW - 1 }, fresh(8, 0)],
    ['dead, forgotten', { state: 'dead', until: NOW }, fresh(8, 0)],
    ['claimed, run out, another hash', { hash: 'x', until: NOW - 1 }, conflict],
    ['free, another hash', { state: 'free', hash: 'x' }, conflict],
    ['done', { state: 'done' }, done],
    ['done in an older life', { state: 'done', generation: 0 }, done],
    ['done in a newer life', { state: 'done', generation: 2 }, done],
    ['free in an older life, later attempt', { state: 'free', generation: 0, attempt: 9 }, fresh(8, 0)],
    ['dead in an older life', { state: 'dead', generation: 0 }, fresh(8, 0)],
    ['claimed in an older life', { generation: 0 }, fresh(8, 0)],
    ['claimed in an older life, run out', { generation: 0, until: NOW - 1 }, fresh(8, 0)],
    ['claimed in a newer life', { generation: 2, attempt: 1 }, stale],
    ['free in a newer life', { state: 'free', generation: 2, attempt: 0 }, stale],
    ['dead in this life', { state: 'dead', attempt: 1 }, stale],
    ['free, later attempt spent', { state: 'free', attempt: 3 }, stale],
    ['free, this attempt spent', { state: 'free', attempt: 2 }, stale],
    ['free, the attempt before spent', { state: 'free', attempt: 1 }, fresh(8, 0)],
    ['claimed, later attempt', { attempt: 3 }, stale],
    ['claimed, later attempt, run out', { attempt: 3, until: NOW - 1 }, stale],
    ['claimed, earlier attempt', { attempt: 1 }, fresh(8, 0)],
    ['claimed, earlier attempt, run out', { attempt: 1, until: NOW - 1 }, fresh(8, 0)],
    ['claimed, this attempt', {}, { claim: { is: 'busy', until: NOW + 1 } }],
    ['claimed, this attempt, run out', { until: NOW }, fresh(8, 4)],
  ] as const)('%s', (_, there, expected) => {
    expect(claimRow(there && row(there), key, NOW, UNTIL)).toStrictEqual(expected)
  })
})

it('what a transport holds by a claim of its own', () => {
  const held = { key, token: 7 }
  expect(heldHere({ is: 'fresh', held, crashes: 0 })).toBe(held)
  const elsewhere = { key: { ...key, store: 'redis' }, token: 7 }
  expect(heldHere({ is: 'fresh', held: elsewhere, crashes: 0 })).toBeUndefined()
  expect(heldHere({ is: 'stale' })).toBeUndefined()
  expect(heldHere(undefined)).toBeUndefined()
})

describe('the end of a claim', () => {
  it.each([
    ['done', 'done', 2],
    ['spent', 'free', 2],
    ['dead', 'dead', 2],
    ['free', 'free', 1],
  ] as const)('%s', (as, state, attempt) => {
    expect(finishRow(row({}), { key, token: 7 }, as, NOW)).toStrictEqual({
      hash: 'h',
      state,
      generation: 1,
      attempt,
      token: 7,
      until: 61_000,
      crashes: 0,
    })
  })

  it.each([
    ['no row', undefined],
    ['a newer token', row({ token: 8 })],
    ['ended already', row({ state: 'free' })],
  ])('%s: nothing to end', (_, there) => {
    expect(finishRow(there, { key, token: 7 }, 'done', NOW)).toBeUndefined()
  })

  it('put off without a parcel that says more, it is free', () => {
    expect(endingOf({ do: 'later' }, { spent: 0 })).toBe('free')
    expect(endingOf({ do: 'later', parcel: { trail: { spent: 0 } } }, { spent: 0 })).toBe('free')
    expect(endingOf({ do: 'later', parcel: { trail: { spent: 1 } } }, { spent: 0 })).toBe('spent')
  })
})
