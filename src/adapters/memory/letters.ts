import type { KeptLetter, LetterFilter, Letters } from '../../contracts/letters.ts'
import { actOn } from '../../core/acts.ts'
import type { Act } from '../../core/audit.ts'
import { ReprieveError } from '../../core/error.ts'
import { firstState } from '../../core/letter.ts'
import { sieveFor } from '../../core/sift.ts'
import { deskOf } from './desk.ts'
import {
  cameBack,
  groupsOf,
  type KeptDeaths,
  type KeptGroups,
  noteArrival,
  noteDeath,
  noteResolved,
} from './groups.ts'
import { endItem, type KeptOperations } from './operations.ts'

/** Newest burial first; letters of one moment by id, so that the order is the same on every page. */
const newestFirst = (a: KeptLetter, b: KeptLetter): number =>
  b.letter.buriedAt - a.letter.buriedAt || (a.letter.id < b.letter.id ? 1 : -1)

export const lettersOf = (
  kept: Map<string, KeptLetter>,
  groups: KeptGroups,
  deaths: KeptDeaths,
  append: (act: Act) => unknown,
  operations: KeptOperations,
): Letters => {
  const matching = (filter: LetterFilter) => {
    const sieve = sieveFor(filter)
    return [...kept.values()].filter((each) => matches(filter, each) && (sieve?.(each) ?? true))
  }
  const find: Letters['find'] = async (filter, limit, after) => {
    const from = after === undefined ? undefined : kept.get(after)
    if (after !== undefined && !from) {
      throw new ReprieveError('unknown_letter', `there is no letter '${after}' to go on after`)
    }
    return matching(filter)
      .filter((each) => !from || newestFirst(from, each) < 0)
      .filter((each) => each !== from)
      .sort(newestFirst)
      .slice(0, limit)
  }
  return {
    keep: async (letters) => {
      const before = kept.size
      for (const letter of letters) {
        if (kept.has(letter.id)) continue
        noteDeath(deaths, letter)
        noteArrival(groups, letter, cameBack(groups, kept, letter))
        kept.set(letter.id, { letter, state: firstState(letter), stateAt: letter.buriedAt })
      }
      return kept.size - before
    },
    find,
    outlines: find,
    sendables: async (ids) => ids.flatMap((id) => kept.get(id) ?? []),
    count: async (filter) => matching(filter).length,
    countUpTo: async (filter) => ({ count: matching(filter).length, whole: true }),
    mark: async (marks, act) => {
      const marked = marks.map(({ id, from, to, at }) => {
        const found = kept.get(id)
        if (!found || !from.includes(found.state)) return false
        kept.set(id, { ...found, state: to, stateAt: at })
        if (to === 'resolved') noteResolved(groups, found.letter.fingerprint, at)
        if (to === 'resolved' || to === 'dead again') endItem(operations, id, to, at)
        return true
      })
      const ids = marks.flatMap(({ id }, i) => (marked[i] ? [id] : []))
      if (act && ids.length > 0) append(actOn(act, ids))
      return marked
    },
    groups: groupsOf(kept, groups, deaths, append),
    desk: deskOf(kept, groups, append),
  }
}

const SAME = ['service', 'topic', 'category', 'kind', 'code', 'fingerprint'] as const

const matches = (filter: LetterFilter, { letter, state }: KeptLetter): boolean =>
  (!filter.ids || filter.ids.includes(letter.id)) &&
  letter.id.startsWith(filter.beginning ?? '') &&
  (!filter.states || filter.states.includes(state)) &&
  (filter.type === undefined || filter.type === letter.event.type) &&
  letter.buriedAt >= (filter.from ?? Number.NEGATIVE_INFINITY) &&
  letter.buriedAt < (filter.to ?? Number.POSITIVE_INFINITY) &&
  SAME.every((name) => filter[name] === undefined || filter[name] === letter[name])
