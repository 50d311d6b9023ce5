import { describe, expect, it } from 'vitest'
import { claimRow, finishRow, type Held, type LedgerKey, type LedgerRow, markRow } from './ledger.ts'

/**
 * Every order in which one event can go through two workers, where so often one of them dies, all leases run out, or the handler
 * throws. Each step is one durable act; between any two of them anything may happen.
 */
const LIMITS = { crashes: 2, expiries: 2, throws: 1 }
const LEASE = 10
const TTL = 1000

type Act =
  | 'look' // acknowledged where it is marked
  | 'mark'
  | 'mark, known is acknowledged'
  | 'claim, busy is acknowledged'
  | 'claim, busy comes later'
  | 'effect'
  | 'keyed effect'
  | 'finish'
  | 'effect and finish' // in one transaction, if the token is still ours
  | 'effect and mark' // in one transaction, unless it is marked
  | 'ack'

interface Worker {
  /** Which act comes next; -1: it has nothing. */
  readonly at: number
  readonly token: number
}

interface State {
  readonly now: number
  readonly row: LedgerRow | null
  readonly effects: number
  /** Acknowledged: nobody will bring it again. */
  readonly gone: boolean
  /** Who was handed it last. */
  readonly holder: number
  readonly workers: readonly Worker[]
  readonly left: typeof LIMITS & { readonly replays: number }
  readonly generation: number
}

const IDLE: Worker = { at: -1, token: 0 }

const keyIn = ({ generation }: State): LedgerKey => ({
  ...{ service: 's', id: 'e', hash: 'h', attempt: 1, generation, ttl: TTL },
})

const withWorker = (state: State, n: number, worker: Worker): State => ({
  ...state,
  workers: state.workers.map((each, i) => (i === n ? worker : each)),
})
const givesBack = (state: State, n: number): State => ({
  ...withWorker(state, n, IDLE),
  ...(state.holder === n && { holder: -1 }),
})
const isMarked = ({ row, now }: State): boolean => row?.state === 'done' && row.until > now

/** What one act of a worker makes of the state. */
const done = (protocol: readonly Act[], state: State, n: number): State => {
  const { at, token } = state.workers[n]!
  const { row, now } = state
  const key = keyIn(state)
  const held: Held = { key, token }
  const next = { ...withWorker(state, n, { at: at + 1, token }) }
  const skip = withWorker(state, n, { at: protocol.length - 1, token })
  const act = protocol[at]!
  switch (act) {
    case 'look':
      return isMarked(state) ? skip : next
    case 'mark': {
      const marked = markRow(row ?? undefined, key, now)
      return typeof marked === 'string' ? next : { ...next, row: marked }
    }
    case 'mark, known is acknowledged': {
      const marked = markRow(row ?? undefined, key, now)
      return typeof marked === 'string' ? skip : { ...next, row: marked }
    }
    case 'claim, busy is acknowledged':
    case 'claim, busy comes later': {
      const { claim, row: after } = claimRow(row ?? undefined, key, now, now + LEASE)
      if (claim.is === 'fresh')
        return { ...withWorker(state, n, { at: at + 1, token: claim.held.token }), row: after! }
      return claim.is === 'busy' && act === 'claim, busy comes later' ? givesBack(state, n) : skip
    }
    case 'effect':
      return { ...next, effects: state.effects + 1 }
    case 'keyed effect':
      return { ...next, effects: 1 }
    case 'finish':
      return { ...next, row: finishRow(row ?? undefined, held, 'done', now) ?? row }
    case 'effect and finish': {
      const after = finishRow(row ?? undefined, held, 'done', now)
      return after ? { ...next, row: after, effects: state.effects + 1 } : givesBack(state, n)
    }
    case 'effect and mark': {
      const marked = markRow(row ?? undefined, key, now)
      return typeof marked === 'string' ? skip : { ...next, row: marked, effects: state.effects + 1 }
    }
    case 'ack':
      return { ...givesBack(state, n), gone: state.gone || state.holder === n }
  }
}

/** Its handler throws: what was claimed is free again, and the event comes again. */
const thrown = (state: State, n: number): State => {
  const held = { key: keyIn(state), token: state.workers[n]!.token }
  const row = finishRow(state.row ?? undefined, held, 'free', state.now) ?? state.row
  return { ...givesBack(state, n), row, left: { ...state.left, throws: state.left.throws - 1 } }
}

function* following(protocol: readonly Act[], state: State, replayAfter: number): Generator<State> {
  const { left, workers, now } = state
  for (const [n, { at }] of workers.entries()) {
    if (at < 0) {
      if (!state.gone && state.holder < 0) yield { ...withWorker(state, n, { at: 0, token: 0 }), holder: n }
      continue
    }
    yield done(protocol, state, n)
    if (left.crashes > 0) yield { ...givesBack(state, n), left: { ...left, crashes: left.crashes - 1 } }
    if (left.throws > 0 && protocol[at]!.includes('effect')) yield thrown(state, n)
  }
  // it is handed to another, and whoever has it goes on unaware
  if (left.expiries > 0 && !state.gone)
    yield { ...state, now: now + LEASE, holder: -1, left: { ...left, expiries: left.expiries - 1 } }
  if (left.replays > 0 && state.gone && workers.every(({ at }) => at < 0)) {
    const generation = state.generation + 1
    yield {
      ...state,
      gone: false,
      now: now + replayAfter,
      generation,
      left: { ...left, replays: left.replays - 1 },
    }
  }
}

/** All that can become of it. */
const search = (protocol: readonly Act[], { replays = 0, replayAfter = 0 } = {}): ReadonlySet<string> => {
  const found = new Set<string>()
  const seen = new Set<string>()
  const left = { ...LIMITS, replays }
  const fresh = { now: 0, row: null, effects: 0, gone: false, holder: -1, generation: 0 }
  const open: State[] = [{ ...fresh, left, workers: [IDLE, IDLE] }]
  for (let state = open.pop(); state; state = open.pop()) {
    const name = JSON.stringify(state)
    if (seen.has(name)) continue
    seen.add(name)
    if (state.effects > 1) found.add('duplicates')
    else if (state.gone && state.effects === 0 && state.workers.every(({ at }) => at < 0)) found.add('loses')
    else open.push(...following(protocol, state, replayAfter))
  }
  return found
}

const LATER = 'claim, busy comes later'

describe('one event, two workers, two deaths, two leases that run out, one throw, in every order', () => {
  it.each<[name: string, protocol: readonly Act[], found: readonly string[]]>([
    ['look, process, mark', ['look', 'effect', 'mark', 'ack'], ['duplicates']],
    ['mark, process', ['mark, known is acknowledged', 'effect', 'ack'], ['loses']],
    [
      "lease; 'in progress' is acknowledged",
      ['claim, busy is acknowledged', 'effect', 'finish', 'ack'],
      ['duplicates', 'loses'],
    ],
    ["lease; 'in progress' comes later", [LATER, 'effect', 'finish', 'ack'], ['duplicates']],
    ['lease, and the effect carries the key', [LATER, 'keyed effect', 'finish', 'ack'], []],
    ['lease, and effect and end in one transaction', [LATER, 'effect and finish', 'ack'], []],
    ['one transaction of mark and effect', ['effect and mark', 'ack'], []],
    ['lease, and one transaction of mark and effect', [LATER, 'effect and mark', 'ack'], []],
  ])('%s', (_, protocol, found) => {
    expect([...search(protocol)].toSorted()).toEqual(found)
  })

  it.each<[name: string, protocol: readonly Act[]]>([
    ['effect and end in one transaction', [LATER, 'effect and finish', 'ack']],
    ['mark and effect in one transaction', ['effect and mark', 'ack']],
  ])('%s: a replay has no effect again, unless its id was forgotten', (_, protocol) => {
    expect([...search(protocol, { replays: 1 })]).toEqual([])
    expect([...search(protocol, { replays: 1, replayAfter: TTL + LEASE })]).toEqual(['duplicates'])
  })
})
