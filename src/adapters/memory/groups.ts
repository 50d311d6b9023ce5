import type { Arrivals, Deaths, Groups, KeptGroup, Tally } from '../../contracts/groups.ts'
import type { KeptLetter, LetterState } from '../../contracts/letters.ts'
import type { Act } from '../../core/audit.ts'
import { MOST_ERROR, slotOf } from '../../core/group.ts'
import { type Letter, retriesOf } from '../../core/letter.ts'
import type { Instant } from '../../core/time.ts'

/** What can't be told from the letters themselves. The rest is counted when it is asked for. */
interface Remembered {
  group: KeptGroup
  resolvedAt?: Instant
}
export type KeptGroups = Map<string, Remembered>

const AT_AN_END: ReadonlySet<LetterState> = new Set(['resolved', 'dead again', 'discarded'])

/** It died after all of its group were at an end, and some of them resolved. */
export const cameBack = (
  groups: KeptGroups,
  kept: ReadonlyMap<string, KeptLetter>,
  { fingerprint, buriedAt }: Letter,
): boolean => {
  const resolvedAt = groups.get(fingerprint)?.resolvedAt
  if (resolvedAt === undefined || buriedAt <= resolvedAt) return false
  return of(kept, fingerprint).every(({ state }) => AT_AN_END.has(state))
}

export const noteArrival = (groups: KeptGroups, letter: Letter, back: boolean): void => {
  const { fingerprint, id, buriedAt } = letter
  const known = groups.get(fingerprint)
  const newest = !known || buriedAt >= known.group.lastAt
  const group: KeptGroup = {
    ...known?.group,
    fingerprint,
    firstAt: Math.min(known?.group.firstAt ?? buriedAt, buriedAt),
    lastAt: Math.max(known?.group.lastAt ?? buriedAt, buriedAt),
    sample: newest ? id : known.group.sample,
    error: newest ? letter.error.slice(0, MOST_ERROR) : known.group.error,
    ...(back && { regressedAt: buriedAt }),
  }
  groups.set(fingerprint, { ...known, group })
}

export type KeptDeaths = Map<string, Deaths>

export const noteDeath = (deaths: KeptDeaths, letter: Letter): void => {
  const { service, topic, event } = letter
  const name = JSON.stringify([service, topic, event.type])
  const { letters = 0, retries = 0 } = deaths.get(name) ?? {}
  deaths.set(name, {
    ...{ service, topic, type: event.type },
    letters: letters + 1,
    retries: retries + retriesOf(letter),
  })
}

export const noteResolved = (groups: KeptGroups, fingerprint: string, at: Instant): void => {
  const known = groups.get(fingerprint)
  if (known) known.resolvedAt = Math.max(known.resolvedAt ?? at, at)
}

const of = (kept: ReadonlyMap<string, KeptLetter>, fingerprint: string | undefined): readonly KeptLetter[] =>
  [...kept.values()].filter(({ letter }) => fingerprint === undefined || letter.fingerprint === fingerprint)

export const groupsOf = (
  kept: Map<string, KeptLetter>,
  groups: KeptGroups,
  deaths: KeptDeaths,
  append: (act: Act) => unknown,
): Groups => ({
  deaths: async () => [...deaths.values()],
  list: async (beginning, most, except) =>
    [...groups.values()]
      .map(({ group }) => group)
      .filter(
        ({ fingerprint }) =>
          fingerprint.startsWith(beginning) && !(except !== undefined && fingerprint.startsWith(except)),
      )
      .sort((a, b) => b.lastAt - a.lastAt || (a.fingerprint < b.fingerprint ? -1 : 1))
      .slice(0, most),
  tallies: async (fingerprint) => counted(of(kept, fingerprint).map(tallyOf)),
  arrivals: async (from, fingerprint) =>
    counted<Arrivals>(
      of(kept, fingerprint)
        .filter(({ letter }) => slotOf(letter.buriedAt) >= slotOf(from))
        .map(({ letter }) => ({ fingerprint: letter.fingerprint, at: slotOf(letter.buriedAt), count: 1 })),
    ),
  oldest: async (states, service) =>
    [...kept.values()]
      .filter(
        ({ letter, state }) =>
          states.includes(state) && (service === undefined || letter.service === service),
      )
      .reduce<Instant | undefined>(
        (oldest, { letter }) => Math.min(oldest ?? letter.buriedAt, letter.buriedAt),
        undefined,
      ),
  tend: async (fingerprint, tending, at, act) => {
    const known = groups.get(fingerprint)
    if (!known) return false
    const said = Object.entries({ ...known.group, ...tending, tendedAt: at })
    known.group = Object.fromEntries(
      said.filter(([, value]) => value !== null && value !== undefined),
    ) as unknown as KeptGroup
    if (act) append(act)
    return true
  },
  regroup: async (fingerprint, anew, most) => {
    const some = of(kept, fingerprint).slice(0, most)
    for (const each of some) move(kept, groups, each, anew(each.letter))
    if (of(kept, fingerprint).length === 0) groups.delete(fingerprint)
    return some.length
  },
})

const move = (
  kept: Map<string, KeptLetter>,
  groups: KeptGroups,
  { letter, ...rest }: KeptLetter,
  to: string,
) => {
  const from = groups.get(letter.fingerprint)!
  const moved = { ...letter, fingerprint: to }
  kept.set(letter.id, { letter: moved, ...rest })
  noteArrival(groups, moved, false)
  const home = groups.get(to)!
  groups.set(to, { ...from, ...home, group: { ...from.group, ...home.group } })
}

const tallyOf = ({ letter, state }: KeptLetter): Tally => {
  const { fingerprint, service, topic, event, category, kind, code } = letter
  const { type } = event
  return {
    ...{ fingerprint, service, topic, type, category, kind, state, count: 1 },
    ...(code !== undefined && { code }),
  }
}

const counted = <T extends { readonly count: number }>(ones: readonly T[]): readonly T[] => {
  const byName = Map.groupBy(ones, (one) => JSON.stringify(one))
  return [...byName.values()].map((alike) => ({ ...alike[0]!, count: alike.length }))
}
