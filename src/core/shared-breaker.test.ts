import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { BreakerRules } from './breaker-rules.ts'
import type { Json } from './json.ts'
import {
  freshShared,
  hasLease,
  isDue,
  leaseOf,
  quorumOf,
  type Shared,
  type SharedSignal,
  share,
} from './shared-breaker.ts'
import { budgetEntry, readShare, readShared, sharedEntry, shareEntry } from './shared-entries.ts'

const RULES: BreakerRules = { name: 'crm', failures: 3, open: 30_000, probes: 1, successes: 1 }

/** A board of so many processes, with a clock to turn. */
const table = (changed: Partial<BreakerRules> = {}, processes = 3) => {
  const rules = { ...RULES, ...changed }
  const at = { now: 1000, state: freshShared(1000) as Shared }
  const send = (signal: SharedSignal): Shared => {
    at.state = share(rules, at.state, signal, at.now, processes)
    return at.state
  }
  return {
    at,
    send,
    trip: (process: string) => send({ is: 'trip', process, until: at.now + rules.open }),
    take: (lease: string) => hasLease(send({ is: 'take', lease }), lease),
  }
}

describe('the quorum', () => {
  it.for([
    [undefined, 1, 1],
    [undefined, 2, 2],
    [undefined, 50, 2],
    [1, 50, 1],
    [3, 2, 2],
    [3, 50, 3],
    [2, 0, 1],
  ] as const)('of %s, with %s processes, is %s', ([quorum, processes, needed]) => {
    expect(quorumOf(quorum === undefined ? {} : { quorum }, processes)).toBe(needed)
  })

  it('is not reached by one process, however often it trips', () => {
    const { at, trip } = table()
    for (let n = 0; n < 20; n++) {
      at.now += 1000
      expect(trip('a').is).toBe('closed')
    }
    expect(at.state.trips).toEqual([{ process: 'a', at: at.now, until: at.now + 60_000 }])
  })

  it('is reached by a second, and it opens for as long as that one does', () => {
    const { at, trip } = table()
    trip('a')
    at.now += 10_000
    expect(trip('b')).toMatchObject({ is: 'open', since: 11_000, until: 41_000, round: 0 })
    expect(at.state.trips.map(({ process }) => process)).toEqual(['a', 'b'])
  })

  it('is not reached with a trip that is over, or that was taken back', () => {
    const { at, trip, send } = table()
    trip('a')
    at.now += 60_000
    expect(trip('b').is).toBe('closed')
    expect(send({ is: 'well', process: 'b' }).trips).toMatchObject([])
    expect(trip('c').is).toBe('closed')
  })

  it('is one where there is one', () => {
    expect(table({}, 1).trip('a').is).toBe('open')
  })
})

describe('probes of all processes', () => {
  const open = (changed: Partial<BreakerRules> = {}) => {
    const stage = table(changed)
    stage.trip('a')
    stage.trip('b')
    return stage
  }

  it('come when its time is over, as many as the rules say', () => {
    const { at, take } = open({ probes: 2 })
    at.now += 29_999
    expect([isDue(at.state, at.now), take('l0')]).toEqual([false, false])
    at.now += 1
    expect(isDue(at.state, at.now)).toBe(true)
    expect(['l1', 'l2', 'l3'].map(take)).toEqual([true, true, false])
    expect(at.state).toMatchObject({ is: 'half-open', since: at.now, successes: 0 })
  })

  it('one that is let go or lost leaves its place', () => {
    const { at, take, send } = open({ probeLease: 5000 })
    at.now += 30_000
    expect([take('l1'), take('l2')]).toEqual([true, false])
    send({ is: 'let go', lease: 'l1' })
    expect(take('l2')).toBe(true)
    at.now += 4999
    expect(take('l3')).toBe(false)
    at.now += 1
    expect(take('l3')).toBe(true)
    // its answer comes too late
    expect(send({ is: 'failure', lease: 'l2', until: at.now + 1 }).is).toBe('half-open')
    expect(send({ is: 'success', lease: 'l2' }).is).toBe('half-open')
  })

  it('successes of any of them close it, and the evidence is forgotten', () => {
    const { at, take, send } = open({ probes: 2, successes: 2 })
    at.now += 30_000
    take('l1')
    take('l2')
    expect(send({ is: 'success', lease: 'l1' })).toMatchObject({ is: 'half-open', successes: 1 })
    expect(send({ is: 'success', lease: 'l2' })).toEqual({ is: 'closed', round: 1, since: at.now, trips: [] })
  })

  it('a failure opens it again, for as long as that process opened', () => {
    const { at, take, send } = open()
    at.now += 30_000
    take('l1')
    send({ is: 'failure', lease: 'l1', until: at.now + 33_000 })
    expect(at.state).toMatchObject({ is: 'open', since: at.now, until: at.now + 33_000, round: 0 })
  })

  it('of a process that goes by itself count too, once its time is over', () => {
    const { at, send, trip } = open()
    expect(send({ is: 'well', process: 'a' })).toMatchObject({ is: 'open', trips: [{ process: 'b' }] })
    at.now += 30_000
    expect(trip('a')).toMatchObject({ is: 'open', since: at.now, until: at.now + 30_000 })
    expect(trip('b')).toMatchObject({ is: 'open', since: at.now })
    at.now += 30_000
    expect(send({ is: 'well', process: 'c' })).toMatchObject({ is: 'closed', round: 1 })
  })

  it('a lease does not outlast its time when the clock was put back', () => {
    const { at, take } = open({ probeLease: 5000 })
    at.now += 3_630_000
    take('l1')
    at.now -= 3_600_000
    expect(take('l2')).toBe(true)
  })

  it.each([
    [{}, 30_000],
    [{ open: 0 }, 3000],
    [{ probeLease: 20_000 }, 20_000],
    [{ probeLease: 7 }, 3000],
  ])(
    'with %o a lease lasts %i ms: as the rules say, and long enough for whoever asked to come back',
    (rules, lasts) => {
      expect(leaseOf({ ...RULES, ...rules })).toBe(lasts)
    },
  )

  it('nobody takes one while it is closed', () => {
    const { at, take } = table()
    expect([take('l1'), at.state.is]).toEqual([false, 'closed'])
  })
})

const PROCESSES = ['a', 'b', 'c', 'd']
const process = fc.constantFrom(...PROCESSES)
const lease = fc.constantFrom('l1', 'l2', 'l3', 'l4', 'l5')
const act = fc.oneof(
  fc.record({ is: fc.constantFrom('trip' as const, 'well' as const), process }),
  { weight: 3, arbitrary: fc.record({ is: fc.constant('take' as const), lease }) },
  fc.record({ is: fc.constantFrom('let go' as const, 'success' as const, 'failure' as const), lease }),
  {
    weight: 2,
    arbitrary: fc.record({ is: fc.constant('pass' as const), ms: fc.integer({ min: 0, max: 1500 }) }),
  },
)
const rules = fc.record({
  name: fc.constant('any'),
  failures: fc.constant(1),
  open: fc.integer({ min: 0, max: 1000 }),
  probes: fc.integer({ min: 1, max: 3 }),
  probeLease: fc.integer({ min: 1, max: 1500 }),
  successes: fc.integer({ min: 1, max: 3 }),
  quorum: fc.integer({ min: 1, max: 4 }),
})

describe('whatever happens', () => {
  it('it opens by a quorum or a failed probe alone, never has more probes out than allowed, and rounds only grow', () => {
    fc.assert(
      fc.property(rules, fc.array(act, { maxLength: 80, size: 'max' }), (rules, acts) => {
        let now = 0
        let state: Shared = freshShared(now)
        for (const each of acts) {
          if (each.is === 'pass') {
            now += each.ms
            continue
          }
          const before = state
          const signal = { ...each, until: now + rules.open } as SharedSignal
          state = share(rules, before, signal, now, PROCESSES.length)
          expect(state.round).toBeGreaterThanOrEqual(before.round)
          if (before.is === 'closed' && state.is === 'open') {
            const standing = state.trips.filter(({ until }) => until > now)
            expect(new Set(standing.map((trip) => trip.process)).size).toBeGreaterThanOrEqual(rules.quorum)
          }
          if (before.is === 'closed') expect(state.is).not.toBe('half-open')
          if (before.is === 'open' && before.until > now) expect(state.is).toBe('open')
          if (before.is !== 'closed' && state.is === 'closed') {
            expect(['success', 'well']).toContain(each.is)
            expect(state.round).toBe(before.round + 1)
          }
          if (state.is === 'half-open') {
            expect(state.leases.length).toBeLessThanOrEqual(rules.probes)
            expect(state.successes).toBeLessThan(rules.successes)
          }
          // it is plain JSON, and reads back as the same
          expect(readShared(JSON.parse(JSON.stringify(state)))).toEqual(state)
        }
      }),
      { numRuns: 300 },
    )
  })

  it('it can always be closed again: no state is a trap', () => {
    fc.assert(
      fc.property(rules, fc.array(act, { maxLength: 40, size: 'max' }), (rules, acts) => {
        let now = 0
        let state: Shared = freshShared(now)
        for (const each of acts) {
          if (each.is === 'pass') now += each.ms
          else state = share(rules, state, { ...each, until: now + rules.open } as SharedSignal, now, 4)
        }
        now += 10_000
        for (let n = 0; n < rules.successes; n++) {
          state = share(rules, state, { is: 'take', lease: `end ${n}` }, now, 4)
          state = share(rules, state, { is: 'success', lease: `end ${n}` }, now, 4)
        }
        expect(state.is).toBe('closed')
      }),
      { numRuns: 300 },
    )
  })
})

describe('entries of the board', () => {
  it('have names', () => {
    expect([sharedEntry('crm'), budgetEntry('crm'), shareEntry('crm', 'p-1')]).toEqual([
      'breaker/crm',
      'budget/crm',
      'share/p-1/crm',
    ])
  })

  it('say nothing where they are of another shape', () => {
    const good = { is: 'open', round: 1, since: 5, until: 9, trips: [] }
    expect(readShared({ ...good, more: 1 })).toStrictEqual(good)
    const odd: Json[] = [null, 7, 'text', [], {}, { ...good, round: 'x' }, { ...good, since: null }]
    for (const value of [...odd, { ...good, trips: 3 }, { ...good, until: '9' }, { ...good, is: 'ajar' }]) {
      expect(readShared(value), JSON.stringify(value)).toBeUndefined()
    }
    const half = { is: 'half-open', round: 0, since: 5, trips: [], leases: [], successes: 0 }
    expect(readShared(half)).toStrictEqual(half)
    expect(readShared({ ...half, leases: 1 })).toBeUndefined()
    expect(readShared({ ...half, successes: '0' })).toBeUndefined()
  })

  it('drop trips and leases of another shape', () => {
    const trip = { process: 'a', at: 1, until: 2 }
    const lease = { id: 'l', until: 2 }
    const entry: Json = {
      is: 'half-open',
      round: 0,
      since: 5,
      trips: [trip, 7, { ...trip, process: 1 }, { ...trip, at: 'x' }, { ...trip, until: null }],
      leases: [lease, null, { ...lease, id: 1 }, { ...lease, until: 'x' }],
      successes: 0,
    }
    expect(readShared(entry)).toMatchObject({ trips: [trip], leases: [lease] })
  })

  it('name the budget that a share is of', () => {
    expect(readShare({ name: 'crm' })).toBe('crm')
    for (const value of [null, 7, [], {}, { name: 1 }] as Json[]) expect(readShare(value)).toBeUndefined()
  })
})
