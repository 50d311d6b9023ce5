import { describe, expect, it } from 'vitest'
import type { KeptGroup, Tally } from '../contracts/groups.ts'
import { SLOT } from '../core/group.ts'
import { byHurt, describeGroups, HOUR, hourly, type LetterGroup } from './groups.ts'

const now = 1_000 * HOUR + 17 * 60_000
const group = (fingerprint: string, over: Partial<KeptGroup> = {}): KeptGroup => ({
  fingerprint,
  firstAt: now - 30 * HOUR,
  lastAt: now,
  sample: 'id',
  error: 'no',
  ...over,
})
const tally = (fingerprint: string, over: Partial<Tally> = {}): Tally => ({
  ...{ fingerprint, service: 'a-svc', topic: 't', type: 'x', category: 'unknown', kind: 'handler' },
  ...{ state: 'open', count: 1 },
  ...over,
})
const described = (
  groups: readonly KeptGroup[],
  tallies: readonly Tally[],
  arrivals: readonly { fingerprint: string; at: number; count: number }[] = [],
) =>
  describeGroups(groups, {
    tallies,
    arrivals,
    now,
    criticalityOf: (_, type) => (type === 'payment' ? 'critical' : 'medium'),
  })

describe('a group', () => {
  it('adds up its tallies', () => {
    const [one] = described(
      [group('f1-a')],
      [
        tally('f1-a', { count: 5 }),
        tally('f1-a', { state: 'quarantined', count: 2, service: 'b-svc' }),
        tally('f1-a', { state: 'resolved', count: 3, type: 'payment', code: 'E' }),
        tally('f1-b', { count: 99 }),
      ],
    )
    expect(one).toMatchObject({
      ...{ open: 7, total: 10, services: ['a-svc', 'b-svc'], codes: ['E'], criticality: 'critical' },
      states: { open: 5, quarantined: 2, resolved: 3 },
    })
  })

  it('is new for a day, until someone says something of it; is back until someone does again', () => {
    const of = (over: Partial<KeptGroup>) => described([group('f1-a', over)], [tally('f1-a')])[0]!
    expect(of({})).toMatchObject({ isNew: false, regressed: false, snoozed: false })
    expect(of({ firstAt: now - 23 * HOUR })).toMatchObject({ isNew: true })
    expect(of({ firstAt: now - 23 * HOUR, tendedAt: now - 1 })).toMatchObject({ isNew: false })
    expect(of({ regressedAt: 5 })).toMatchObject({ regressed: true })
    expect(of({ regressedAt: 5, tendedAt: 6 })).toMatchObject({ regressed: false })
    expect(of({ regressedAt: 7, tendedAt: 6 })).toMatchObject({ regressed: true })
    expect(of({ snoozedUntil: now + 1 })).toMatchObject({ snoozed: true })
    expect(of({ snoozedUntil: now })).toMatchObject({ snoozed: false })
  })

  it('grows by the last hour against the hour before, to within a slot', () => {
    const slot = Math.floor(now / SLOT) * SLOT
    const at = (slots: number, count: number) => ({ fingerprint: 'f1-a', at: slot - slots * SLOT, count })
    const arrivals = [at(0, 1), at(11, 10), at(12, 100), at(23, 1000), at(24, 10_000), at(-1, 5)]
    expect(described([group('f1-a')], [], arrivals)[0]).toMatchObject({
      ...{ lastHour: 11, hourBefore: 1100, growth: -1089 },
    })
    expect(hourly(arrivals, now, 3)).toEqual([10_000, 1100, 11])
  })
})

it('what hurts most comes first', () => {
  const base = described([group('f1-a')], [tally('f1-a')])[0]!
  const named = (fingerprint: string, over: Partial<LetterGroup>): LetterGroup => ({
    ...base,
    fingerprint,
    ...over,
  })
  const inOrder = [
    named('grows and is critical', { growth: 10, criticality: 'critical', owner: 'ann' }),
    named('grows faster', { growth: 30 }),
    named('back', { regressed: true, owner: 'ann' }),
    named('many, nobody on it', { open: 500 }),
    named('few, nobody on it', { open: 5 }),
    named('calms down, someone on it', { growth: -90, open: 9000, owner: 'ann' }),
    named('snoozed', { growth: 900, snoozed: true }),
  ]
  expect(
    inOrder
      .toReversed()
      .sort(byHurt)
      .map(({ fingerprint }) => fingerprint),
  ).toEqual(inOrder.map(({ fingerprint }) => fingerprint))
})
