import { classify, type Override } from '../../core/classify.ts'
import type { Path } from '../place.ts'
import type { Remark } from './finding.ts'
import { type Check, levelsIn } from './scope.ts'

/** What rules say of errors. */
export const overrides: Check = ({ book }) => ({
  *whole() {
    for (const { says, path } of levelsIn(book)) {
      const list = says.overrides ?? []
      const criteria = list.map(({ match }) => criteriaOf(match))
      for (const [index, each] of list.entries()) {
        const at = [...path, 'overrides', String(index)]
        yield* tooWide(each, at)
        yield* hopeless(each, at)
        const before = criteria.findIndex((wide, i) => i < index && takesIn(wide, each.match))
        if (before >= 0) yield shadowed(at, before)
      }
    }
  },
})

const shadowed = (path: Path, before: number): Remark => ({
  id: 'override-shadowed',
  path,
  reason: `it never counts: override ${before + 1} of the same list comes first and matches all that it matches`,
  fix: 'put the narrower one first, or take one of them away',
})

type Match = Override['match']
type Criterion = readonly [keyof Match, string | number]

const criteriaOf = (match: Match): readonly Criterion[] =>
  Object.entries(match).filter(([, value]) => value !== undefined) as unknown as readonly Criterion[]

const matchesAnything = (message: string): boolean => message.replaceAll('*', '').trim() === ''

/** Whether whatever matches `narrow` matches `wide` too. */
const takesIn = (wide: readonly Criterion[], narrow: Match): boolean =>
  wide.every(([key, value]) => {
    const other = narrow[key]
    if (key !== 'message') return value === other
    return matchesAnything(`${value}`) || (other !== undefined && holdsParts(`${other}`, `${value}`))
  })

/** Each part of the wide pattern lies within one part of the narrow one, in order. */
const holdsParts = (narrow: string, wide: string): boolean => {
  const text = narrow.replaceAll('*', '\0')
  let from = 0
  for (const part of wide.split('*')) {
    const at = text.indexOf(part, from)
    if (at < 0) return false
    from = at + part.length
  }
  return true
}

function* tooWide({ match, category }: Override, path: Path): Generator<Remark> {
  const criteria = criteriaOf(match)
  if (!criteria.every(([key, value]) => key === 'message' && matchesAnything(`${value}`))) return
  yield {
    id: 'override-matches-all',
    path: [...path, 'match'],
    reason: `it makes every error ${category}, whatever it is`,
    fix: 'name a code, a name, a status or a part of the message',
  }
}

/** A name that does not exist yet, a conflict, a lock: these pass, and a book may well say so. */
const MAY_PASS = new Set([404, 409, 412, 423, 424, 425])

function* hopeless({ match, category }: Override, path: Path): Generator<Remark> {
  const { code, name, status } = match
  if (category === 'permanent' || (status !== undefined && MAY_PASS.has(status))) return
  if (code === undefined && name === undefined && status === undefined) return
  const error = Object.assign(new Error(''), {
    ...(code !== undefined && { code }),
    ...(name !== undefined && { name }),
    ...(status !== undefined && { status }),
  })
  if (classify(error).category !== 'permanent') return
  const what = criteriaOf({ status, code, name })
    .map(([key, value]) => `${key} ${value}`)
    .join(', ')
  yield {
    id: 'retries-permanent',
    path: [...path, 'category'],
    reason: `${what} is permanent: trying again as ${category} only delays the burial`,
    fix: 'leave it to the decision tree, which buries it at once; mend the cause and replay',
  }
}
