import { describe, expect, it } from 'vitest'
import {
  acquitRow,
  BELIEVED,
  beginRow,
  claimRow,
  endingOf,
  finishRow,
  heldHere,
  type LedgerKey,
  type LedgerRow,
} from './ledger.ts'

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
  begun: false,
  ...more,
})

const fresh = (token: number, crashes: number) => ({
  claim: { is: 'fresh', held: { key, token }, crashes },
  row: { hash: 'h', state: 'claimed', generation: 1, attempt: 2, token, until: UNTIL, crashes, begun: false },
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
    ['done, the payload repaired', { state: 'done', hash: '*' }, done],
    ['dead in an older life, repaired', { state: 'dead', generation: 0, hash: '*' }, fresh(8, 0)],
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
    ['free, the attempt before spent', { state: 'free', attempt: 1, crashes: 0 }, fresh(8, 0)],
    ['a suspect, freed before it was begun', { state: 'free', attempt: 1 }, fresh(8, 3)],
    ['claimed, later attempt', { attempt: 3 }, stale],
    ['claimed, later attempt, run out', { attempt: 3, until: NOW - 1 }, stale],
    ['claimed, earlier attempt', { attempt: 1 }, fresh(8, 0)],
    ['claimed, earlier attempt, run out', { attempt: 1, until: NOW - 1 }, fresh(8, 0)],
    ['claimed, this attempt', {}, { claim: { is: 'busy', until: NOW + 1 } }],
    ['claimed, this attempt, run out', { until: NOW, crashes: 0 }, fresh(8, 1)],
    ['a suspect, run out before it was begun', { until: NOW }, fresh(8, 3)],
    ['a suspect, run out while it ran', { until: NOW, begun: true }, fresh(8, 4)],
    ['a suspect that runs', { begun: true }, { claim: { is: 'busy', until: NOW + 1 } }],
  ] as const)('%s', (_, there, expected) => {
    expect(claimRow(there && row(there), key, NOW, UNTIL)).toStrictEqual(expected)
  })
})

describe('the beginning of a suspect', () => {
  it('is marked under its token', () => {
    expect(beginRow(row({}), { key, token: 7 })).toStrictEqual(row({ begun: true }))
  })

  it.each([
    ['no row', undefined],
    ['a newer token', row({ token: 8 })],
    ['ended already', row({ state: 'free' })],
  ])('%s: nothing to begin', (_, there) => {
    expect(beginRow(there, { key, token: 7 })).toBeUndefined()
  })
})

describe('a holder that was taken for dead and comes back', () => {
  const held = { key, token: 6 }

  it.each([
    ['the next one holds it', {}],
    ['the next one has begun it', { begun: true }],
    ['someone after the next one holds it', { token: 2 + BELIEVED }],
    ['the next one gave it back', { state: 'free', attempt: 1 }],
    ['it is free for so long that it may be forgotten', { state: 'free', attempt: 1, until: 0 }],
  ] as const)('takes its crash back: %s', (_, there) => {
    expect(acquitRow(row(there), held)).toStrictEqual(row({ ...there, crashes: 2 }))
  })

  it.each([
    ['no row', undefined],
    ['nobody took it', row({ token: 6 })],
    ['its own claim was a later one', row({ token: 5 })],
    ['none was counted', row({ crashes: 0 })],
    ['a newer life', row({ generation: 2 })],
    ['an older life', row({ generation: 0 })],
    ['another attempt', row({ attempt: 3 })],
    ['this attempt was spent', row({ state: 'free' })],
    ['done', row({ state: 'done' })],
    ['dead', row({ state: 'dead', attempt: 1 })],
    ['it came back too often', row({ token: 3 + BELIEVED })],
  ])('%s: nothing to take back', (_, there) => {
    expect(acquitRow(there, held)).toBeUndefined()
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
    ['done', false, 'done', 2, 0],
    ['spent', false, 'free', 2, 0],
    ['dead', false, 'dead', 2, 0],
    ['free', false, 'free', 1, 3],
    ['done', true, 'done', 2, 0],
    ['spent', true, 'free', 2, 0],
    ['dead', true, 'dead', 2, 0],
    ['free', true, 'free', 1, 3],
  ] as const)('%s, begun: %s', (as, begun, state, attempt, crashes) => {
    expect(finishRow(row({ begun }), { key, token: 7 }, as, NOW)).toStrictEqual({
      hash: 'h',
      state,
      generation: 1,
      attempt,
      token: 7,
      until: 61_000,
      crashes,
      begun,
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
