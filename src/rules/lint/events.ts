import { isPrefix } from '../../core/pattern.ts'
import { type Path, pathKey } from '../place.ts'
import type { Remark } from './finding.ts'
import type { Check, Pair } from './scope.ts'

/** Words that say nothing of what happened. */
const GENERIC = new Set(
  'data error event failure generic info item job message misc notification object other stuff test thing unknown update'.split(
    ' ',
  ),
)

/** `error` and `system.error` could be anything; `billing.invoice.error` says what it is about. */
const isGeneric = (name: string): boolean => {
  const words = name.toLowerCase().split(/[.:/_-]/)
  return words.length <= 2 && GENERIC.has(words.at(-1)!)
}

const generic = (name: string, path: Path): Remark => ({
  id: 'generic-event-name',
  path,
  reason: `'${name}' does not say what happened: events with different needs share one row`,
  fix: "name what happened to what, such as 'billing.invoice.rejected'",
})

/** How events are called. */
export const names: Check = ({ book }) => ({
  *pair({ event, path }) {
    if (!isPrefix(event) && isGeneric(event)) yield generic(event, path)
  },
  *whole() {
    for (const [topic, { types }] of book.topics) {
      const list = Array.isArray(book.written.topics?.[topic])
        ? ['topics', topic]
        : ['topics', topic, 'types']
      for (const [index, type] of types.entries()) {
        if (!isPrefix(type) && isGeneric(type)) yield generic(type, [...list, String(index)])
      }
    }
  },
})

const MANY_CRITICAL = 3
const MANY_ALIKE = 5

/** What is said of events so often that it says nothing any more. */
export const sameness: Check = () => {
  let rows = 0
  let first: Pair | undefined
  const counted = { priority: 0, criticality: 0 }
  const policies = new Map<string, Path | undefined>()
  const levels = new Map<string, Path | undefined>()
  return {
    *pair(pair) {
      const { rules, from } = pair
      if (pair.path.length > 2) {
        rows++
        first ??= pair
        if (rules.priority === 'critical') counted.priority++
        if (rules.criticality === 'critical') counted.criticality++
        // two are enough to know that they differ
        if (policies.size < 2) {
          const chosen = from('policy')
          const own = rules.policy.name === 'inline' && chosen ? pathKey(chosen) : rules.policy.name
          if (!policies.has(own)) policies.set(own, chosen)
        }
        if (levels.size < 2 && !levels.has(rules.criticality)) {
          levels.set(rules.criticality, from('criticality'))
        }
      }
      yield* mismatched(pair)
    },
    *whole() {
      if (!first) return
      for (const key of ['priority', 'criticality'] as const) {
        if (rows >= MANY_CRITICAL && counted[key] === rows) yield allCritical(key, first.from(key)!, rows)
      }
      yield* onePolicy(rows, policies, levels)
    },
  }
}

const allCritical = (key: string, path: Path, rows: number): Remark => ({
  id: 'all-critical',
  path,
  reason: `all ${rows} events have ${key} critical: none goes before another`,
  fix: `keep '${key}: critical' for the few that must not wait`,
})

/** Where nobody chose a policy and all events are alike, the built-in one was left as it is: nothing to say. */
function* onePolicy(
  rows: number,
  policies: ReadonlyMap<string, Path | undefined>,
  levels: ReadonlyMap<string, Path | undefined>,
): Generator<Remark> {
  if (rows < MANY_ALIKE || policies.size !== 1) return
  const [[name, chosen]] = [...policies] as [[string, Path | undefined]]
  const [level] = levels.values()
  const differ = levels.size > 1
  // all alike on purpose: then one policy is the right one
  if (!differ && level !== undefined) return
  const path = chosen ?? (differ ? [...levels.values()].find((each) => each !== undefined) : undefined)
  if (!path) return
  yield {
    id: 'one-policy',
    path,
    reason: `all ${rows} events have one policy${chosen ? '' : `, the built-in ${name}`}: what matters is given up too early, or what does not is tried too long`,
    fix: "choose a policy for each event by its criticality, or say with 'criticality' that all are alike",
  }
}

const FEW = 3
const LONG = 8

function* mismatched({ rules, from, example }: Pair): Generator<Remark> {
  const { retries } = rules.policy
  const tooFew = rules.criticality === 'critical' && retries <= FEW
  const tooMany = rules.criticality === 'low' && retries > LONG
  if (!tooFew && !tooMany) return
  const path = from('policy') ?? from('criticality')
  if (!path) return
  yield {
    id: 'policy-against-criticality',
    path,
    reason: tooFew
      ? `a critical event is given up after ${retries} ${retries === 1 ? 'retry' : 'retries'}${example(path)}`
      : `an event of low criticality is tried again ${retries} times${example(path)}`,
    fix: tooFew
      ? "choose a policy with more than 3 retries, such as 'critical' or 'patient'"
      : "choose a policy with at most 8 retries, such as 'standard'",
  }
}
