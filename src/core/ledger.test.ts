import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  beginRow,
  type Claim,
  claimRow,
  type Ending,
  endingOf,
  finishRow,
  type Held,
  type LedgerKey,
  type LedgerRow,
} from './ledger.ts'

const TTL = 1000
const LEASE = 100

const keys = fc.record({
  service: fc.constant('s'),
  id: fc.constant('e'),
  hash: fc.constantFrom('h', 'h', 'h', 'other'),
  attempt: fc.integer({ min: 1, max: 4 }),
  generation: fc.integer({ min: 0, max: 2 }),
  ttl: fc.constant(TTL),
})

type Step =
  | { readonly do: 'claim'; readonly key: LedgerKey }
  /** Ends a claim that was got once, the current one or any older one. */
  | { readonly do: 'finish'; readonly which: number; readonly as: Ending }
  | { readonly do: 'begin'; readonly which: number }
  | { readonly do: 'wait'; readonly ms: number }

const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('claim' as const), key: keys }) },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant('finish' as const),
        which: fc.nat(5),
        as: fc.constantFrom<Ending>('done', 'spent', 'free', 'dead'),
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('begin' as const), which: fc.nat(3) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.nat(2 * LEASE) }) },
  ),
  { maxLength: 40 },
)

interface Look {
  readonly now: number
  readonly before: LedgerRow | undefined
  readonly after: LedgerRow | undefined
}

/** Plays the steps on one row, and shows every claim and every end to the one who watches. */
const play = (
  played: readonly Step[],
  watch: {
    claim?: (look: Look & { key: LedgerKey; claim: Claim }) => void
    begin?: (look: Look & { held: Held; begun: boolean }) => void
    finish?: (look: Look & { held: Held; as: Ending; ended: boolean }) => void
  },
) => {
  let row: LedgerRow | undefined
  let now = 0
  const got: Held[] = []
  for (const step of played) {
    const before = row
    if (step.do === 'wait') now += step.ms
    if (step.do === 'claim') {
      const answer = claimRow(row, step.key, now, now + LEASE)
      if (answer.row) row = answer.row
      if (answer.claim.is === 'fresh') got.unshift(answer.claim.held)
      watch.claim?.({ now, before, after: row, key: step.key, claim: answer.claim })
    }
    if (step.do === 'begin') {
      const held = got[step.which]
      if (!held) continue
      const begun = beginRow(row, held)
      if (begun) row = begun
      watch.begin?.({ now, before, after: row, held, begun: begun !== undefined })
    }
    if (step.do === 'finish') {
      const held = got[step.which]
      if (!held) continue
      const ended = finishRow(row, held, step.as, now)
      if (ended) row = ended
      watch.finish?.({ now, before, after: row, held, as: step.as, ended: ended !== undefined })
    }
  }
}

const always = (check: (played: readonly Step[]) => void) =>
  fc.assert(fc.property(steps, check), { numRuns: 2000 })

describe('for all that may happen to a row', () => {
  test('tokens only grow, and only a fresh claim writes', () => {
    always((played) => {
      let last = 0
      play(played, {
        claim: ({ claim, before, after }) => {
          if (claim.is !== 'fresh') return expect(after).toBe(before)
          expect(claim.held.token).toBeGreaterThan(last)
          expect(after).toMatchObject({ state: 'claimed', token: claim.held.token })
          last = claim.held.token
        },
      })
    })
  })

  test('a stale holder changes nothing: only the newest claim can be ended, and only once', () => {
    always((played) => {
      let newest = 0
      const ended = new Set<number>()
      play(played, {
        claim: ({ claim }) => {
          if (claim.is === 'fresh') newest = claim.held.token
        },
        finish: (look) => {
          const { token } = look.held
          expect(look.ended).toBe(token === newest && !ended.has(token))
          if (look.ended) ended.add(token)
          else expect(look.after).toBe(look.before)
        },
      })
    })
  })

  test('done stays done as long as it is remembered, dead stays dead in its life', () => {
    always((played) => {
      let end: { at: number; as: Ending; hash: string; generation: number } | undefined
      play(played, {
        finish: ({ ended, as, held, now }) => {
          if (ended) end = { at: now, as, hash: held.key.hash, generation: held.key.generation }
        },
        claim: ({ claim, key, now }) => {
          const remembered = end && now < end.at + TTL
          if (remembered && end?.as === 'done') {
            expect(claim.is).toBe(key.hash === end.hash ? 'done' : 'conflict')
          }
          if (remembered && end?.as === 'dead' && key.generation <= end.generation) {
            expect(claim.is).toBe(key.hash === end.hash ? 'stale' : 'conflict')
          }
          if (claim.is === 'fresh') end = undefined
        },
      })
    })
  })

  test('nobody gets what another holds, unless with a newer attempt or life', () => {
    always((played) => {
      play(played, {
        claim: ({ claim, key, before, now }) => {
          if (claim.is !== 'fresh' || before?.state !== 'claimed' || before.until <= now) return
          const newer =
            key.generation > before.generation ||
            (key.generation === before.generation && key.attempt > before.attempt)
          expect(newer).toBe(true)
        },
      })
    })
  })

  test('lives and attempts never go back', () => {
    always((played) => {
      let last = { generation: 0, attempt: 0 }
      play(played, {
        claim: ({ claim, key, before, now }) => {
          if (claim.is !== 'fresh') return
          const forgotten = before && before.state !== 'claimed' && before.until <= now
          if (!forgotten) {
            expect(key.generation).toBeGreaterThanOrEqual(last.generation)
            if (key.generation === last.generation) {
              expect(key.attempt).toBeGreaterThanOrEqual(last.attempt)
            }
          }
          last = key
        },
      })
    })
  })

  test('beyond the first, a crash counts only for who was begun under the last token', () => {
    always((played) => {
      let begun = new Set<number>()
      play(played, {
        begin: (look) => {
          if (look.begun) begun.add(look.held.token)
          else expect(look.after).toBe(look.before)
        },
        claim: ({ claim, before }) => {
          if (claim.is !== 'fresh' || !before || claim.crashes <= before.crashes) return
          expect(claim.crashes).toBe(before.crashes + 1)
          if (before.crashes > 0) expect(begun.has(before.token)).toBe(true)
          begun = new Set()
        },
      })
    })
  })

  test('no attempt is spent twice', () => {
    always((played) => {
      const spent = new Set<string>()
      let forgottenAt = Number.POSITIVE_INFINITY
      play(played, {
        claim: ({ claim, key, now }) => {
          if (now >= forgottenAt) spent.clear()
          if (claim.is !== 'fresh') return
          expect(spent.has(`${key.generation}.${key.attempt}`)).toBe(false)
          forgottenAt = Number.POSITIVE_INFINITY
        },
        finish: ({ ended, as, held, now }) => {
          if (!ended) return
          forgottenAt = now + TTL
          if (as !== 'free') spent.add(`${held.key.generation}.${held.key.attempt}`)
        },
      })
    })
  })
})

test('a claim left to run out counts as a crash, an ended one never', () => {
  const key: LedgerKey = { service: 's', id: 'e', hash: 'h', attempt: 1, generation: 0, ttl: TTL }
  const first = claimRow(undefined, key, 0, 10)
  const second = claimRow(first.row, key, 10, 20)
  expect(second.claim).toMatchObject({ is: 'fresh', crashes: 1 })
  const waited = claimRow(second.row, key, 20, 30)
  expect(waited.claim).toMatchObject({ is: 'fresh', crashes: 1 })
  const held = (row?: LedgerRow) => ({ key, token: row!.token })
  const third = claimRow(beginRow(waited.row, held(waited.row)), key, 30, 40)
  expect(third.claim).toMatchObject({ is: 'fresh', crashes: 2 })
  const freed = finishRow(third.row, held(third.row), 'free', 35)
  expect(claimRow(freed, key, 36, 50).claim).toMatchObject({ is: 'fresh', crashes: 2 })
  const ran = finishRow(beginRow(third.row, held(third.row)), held(third.row), 'free', 35)
  expect(claimRow(ran, key, 36, 50).claim).toMatchObject({ is: 'fresh', crashes: 2 })
  const ended = finishRow(beginRow(third.row, held(third.row)), held(third.row), 'spent', 35)
  expect(claimRow(ended, { ...key, attempt: 2 }, 36, 50).claim).toMatchObject({ is: 'fresh', crashes: 0 })
})

test('how a settlement ends its claim', () => {
  const before = { spent: 1 }
  const after = (spent: number) => ({ do: 'later', parcel: { trail: { spent } } }) as const
  expect(endingOf({ do: 'ack' }, before)).toBe('done')
  expect(endingOf({ do: 'bury' }, before)).toBe('dead')
  expect(endingOf({ do: 'give back' }, before)).toBe('free')
  expect(endingOf(after(2), before)).toBe('spent')
  expect(endingOf(after(1), before)).toBe('free')
})
