import type { KeptLetter, LetterFilter, Letters } from '../../contracts/letters.ts'
import { actOn } from '../../core/acts.ts'
import type { Act } from '../../core/audit.ts'
import { ReprieveError } from '../../core/error.ts'

/** Newest burial first; letters of one moment by id, so that the order is the same on every page. */
const newestFirst = (a: KeptLetter, b: KeptLetter): number =>
  b.letter.buriedAt - a.letter.buriedAt || (a.letter.id < b.letter.id ? 1 : -1)

export const lettersOf = (kept: Map<string, KeptLetter>, append: (act: Act) => unknown): Letters => {
  const matching = (filter: LetterFilter) => [...kept.values()].filter((each) => matches(filter, each))
  return {
    keep: async (letters) => {
      const before = kept.size
      for (const letter of letters) {
        if (!kept.has(letter.id)) kept.set(letter.id, { letter, state: 'open', stateAt: letter.buriedAt })
      }
      return kept.size - before
    },
    find: async (filter, limit, after) => {
      const from = after === undefined ? undefined : kept.get(after)
      if (after !== undefined && !from) {
        throw new ReprieveError('bad_usage', `no letter ${after} is kept to go on after`)
      }
      return matching(filter)
        .filter((each) => !from || newestFirst(from, each) < 0)
        .filter((each) => each !== from)
        .sort(newestFirst)
        .slice(0, limit)
    },
    count: async (filter) => matching(filter).length,
    mark: async (marks, act) => {
      const marked = marks.map(({ id, from, to, at }) => {
        const found = kept.get(id)
        if (!found || !from.includes(found.state)) return false
        kept.set(id, { letter: found.letter, state: to, stateAt: at })
        return true
      })
      const ids = marks.flatMap(({ id }, i) => (marked[i] ? [id] : []))
      if (act && ids.length > 0) append(actOn(act, ids))
      return marked
    },
  }
}

const matches = (filter: LetterFilter, { letter, state }: KeptLetter): boolean =>
  (!filter.ids || filter.ids.includes(letter.id)) &&
  (!filter.states || filter.states.includes(state)) &&
  (['service', 'topic', 'category', 'kind', 'fingerprint'] as const).every(
    (name) => filter[name] === undefined || filter[name] === letter[name],
  )
