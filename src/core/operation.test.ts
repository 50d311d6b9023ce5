import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  ITEM_STATES,
  type ItemCounts,
  isLive,
  isUnderWay,
  mayFollow,
  NO_ITEMS,
  nextStep,
  OPERATION_STATES,
  type Operation,
  OVERRIDES,
  SKIPS,
} from './operation.ts'
import { reasonAgainst, type Standing, sendableFrom } from './replay-check.ts'

const canary = { size: 10, wait: 1000, deaths: 0.2 }
const operation = (over: Partial<Operation> = {}): Operation => ({
  id: 'o-1',
  kind: 'replay',
  state: 'ramp',
  since: 0,
  by: 'ann',
  at: 0,
  chosen: {},
  plan: { batch: 50, although: [] },
  ...over,
})
const counts = (over: Partial<ItemCounts>): ItemCounts => ({ ...NO_ITEMS, ...over })

const someCounts = fc
  .tuple(...ITEM_STATES.map(() => fc.nat(200)))
  .map((all) => Object.fromEntries(ITEM_STATES.map((state, i) => [state, all[i]])) as unknown as ItemCounts)
const someOperation = fc
  .record({
    kind: fc.constantFrom('replay' as const, 'purge' as const),
    state: fc.constantFrom(...OPERATION_STATES),
    withCanary: fc.boolean(),
    size: fc.integer({ min: 1, max: 100 }),
    batch: fc.integer({ min: 1, max: 100 }),
    paused: fc.boolean(),
  })
  .map(({ kind, state, withCanary, size, batch, paused }) => {
    const needs = withCanary || state === 'canary' || state === 'watching'
    const plan = { batch, although: [], ...(needs && { canary: { ...canary, size } }) }
    return operation({ kind, state, plan, ...(paused && { paused: { by: 'bob', at: 0 } }) })
  })

describe('the next step of an operation', () => {
  it('is one that may follow, never sends more than is left or a batch, and ends when nothing is left', () => {
    fc.assert(
      fc.property(someOperation, someCounts, fc.nat(5000), (each, all, now) => {
        const step = nextStep(each, all, now)
        if (each.paused || !isUnderWay(each.state)) return void expect(step).toEqual({ do: 'wait' })
        if (step.do === 'become') expect(mayFollow(each.state, step.state)).toBe(true)
        if (step.do === 'send') {
          expect(step.most).toBeGreaterThan(0)
          expect(step.most).toBeLessThanOrEqual(Math.min(all.waiting, each.plan.batch))
          if (each.state === 'canary') expect(step.most).toBeLessThanOrEqual(each.plan.canary!.size)
        }
        if (all.waiting + all.sending + all.sent === 0) expect(step.do).not.toBe('wait')
      }),
    )
  })

  it('always comes to an end: whatever becomes of the letters, no state comes twice', () => {
    fc.assert(
      fc.property(someOperation, fc.nat(60), fc.infiniteStream(fc.boolean()), (each, total, fates) => {
        let { paused: _, ...now }: Operation = each
        if (!isUnderWay(now.state)) now = { ...now, state: 'approved' }
        const all: Record<string, number> = { ...NO_ITEMS, waiting: total }
        const seen = new Set([now.state])
        for (let steps = 0; isLive(now.state); steps++) {
          expect(steps).toBeLessThan(500)
          const step = nextStep(now, all as ItemCounts, 0)
          if (step.do === 'send') {
            all.waiting! -= step.most
            all[now.kind === 'purge' ? 'purged' : 'sent']! += step.most
          } else if (step.do === 'become') {
            now = { ...now, state: step.state }
            expect(seen.has(step.state)).toBe(false)
            seen.add(step.state)
          } else {
            expect(all.sent).toBeGreaterThan(0)
            all.sent!--
            all[fates.next().value ? 'resolved' : 'dead again']!++
          }
        }
        if (now.state === 'done') expect(all.waiting! + all.sending! + all.sent!).toBe(0)
      }),
    )
  })

  it('stops by itself when more canaries died than may, and as soon as that is known', () => {
    const watching = operation({ state: 'watching', plan: { batch: 50, although: [], canary } })
    const step = (over: Partial<ItemCounts>, now = 0) =>
      nextStep(watching, counts({ waiting: 90, ...over }), now)
    expect(step({ 'dead again': 3, sent: 7 })).toMatchObject({ do: 'become', state: 'stopped' })
    expect(step({ 'dead again': 2, sent: 8 })).toEqual({ do: 'wait', until: 1000 })
    expect(step({ 'dead again': 2, resolved: 8 })).toEqual({ do: 'become', state: 'ramp' })
    expect(step({ resolved: 9, sent: 1 }, 1000)).toMatchObject({ do: 'pause' })
  })

  it('lets nothing begin on an approval that has expired', () => {
    const approved = operation({ state: 'approved', until: 100 })
    expect(nextStep(approved, counts({ waiting: 1 }), 99)).toEqual({ do: 'become', state: 'ramp' })
    expect(nextStep(approved, counts({ waiting: 1 }), 100)).toMatchObject({ state: 'cancelled' })
  })
})

/** No word passes these over. */
const NEVER = ['needs approval', 'quarantined', 'unknown letter', 'redacted', 'nowhere to go']

const fine: Standing = {
  state: 'open',
  whole: true,
  returns: true,
  approved: true,
  valid: true,
  expired: false,
  healthy: true,
  generation: 0,
}
const someStanding: fc.Arbitrary<Standing> = fc.record({
  state: fc.constantFrom(
    ...(['open', 'replaying', 'resolved', 'dead again', 'discarded', 'quarantined', undefined] as const),
  ),
  whole: fc.boolean(),
  returns: fc.boolean(),
  approved: fc.boolean(),
  valid: fc.boolean(),
  expired: fc.boolean(),
  healthy: fc.boolean(),
  generation: fc.nat(3),
})

describe('what speaks against replaying a letter', () => {
  const plain = operation()

  it('is one word, the first in order, of approval, schema, age, health, re-entry', () => {
    const against = { ...fine, approved: false, valid: false, expired: true, healthy: false, generation: 1 }
    const mended: Partial<Standing>[] = [
      { approved: true },
      { valid: true },
      { expired: false },
      { healthy: true },
    ]
    const words = [
      against,
      ...mended.map((_, i) => Object.assign({}, against, ...mended.slice(0, i + 1))),
    ].map((standing) => reasonAgainst(standing, plain, 1))
    expect(words).toEqual([
      ...['needs approval', 'invalid schema', 'expired', 'downstream unhealthy', 're-entry limit'],
    ])
    expect(reasonAgainst(fine, plain, 1)).toBeUndefined()
  })

  it('is passed over where an override names it, and by no other word', () => {
    const words = fc.subarray([...OVERRIDES])
    fc.assert(
      fc.property(someStanding, words, fc.boolean(), (standing, although, named) => {
        const asked = { plan: { batch: 50, although }, ...(named && { named }) }
        const reason = reasonAgainst(standing, asked, 1)
        if (reason === undefined) return void expect(sendableFrom(asked)).toContain(standing.state)
        expect(SKIPS).toContain(reason)
        expect(although).not.toContain(reason)
        // whatever else is passed over, the same letter is never worse off
        const more = reasonAgainst(standing, { ...asked, plan: { batch: 50, although: OVERRIDES } }, 1)
        expect([undefined, ...NEVER]).toContain(more)
      }),
    )
  })

  it.each([
    ['quarantined', 'quarantined'],
    ['replaying', 'on its way'],
    ['resolved', 'already done'],
    ['dead again', 'already done'],
    ['discarded', 'already done'],
    [undefined, 'unknown letter'],
  ] as const)('is told by its state: %s is %s', (state, word) => {
    expect(reasonAgainst({ ...fine, state }, plain, 1)).toBe(word)
  })

  it('lets a letter that was named re-enter, but not go beside itself', () => {
    const named = { ...plain, named: true }
    expect(reasonAgainst({ ...fine, generation: 7 }, named, 1)).toBeUndefined()
    expect(reasonAgainst({ ...fine, state: 'replaying' }, named, 1)).toBe('on its way')
  })
})
