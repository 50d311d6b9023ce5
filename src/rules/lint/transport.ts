import { isPrefix } from '../../core/pattern.ts'
import type { RuleBook } from '../book.ts'
import { showDuration } from '../duration.ts'
import type { Path } from '../place.ts'
import { delaysOf } from './delays.ts'
import type { Remark } from './finding.ts'
import type { Check, Pair, TransportFacts } from './scope.ts'
import { vocabularyOf } from './vocabulary.ts'

/** What the transport that was named can't do. */
export const transport: Check = ({ book, facts }) => {
  const to = facts.transport
  if (!to) return {}
  const words = to.patterns ? undefined : vocabularyOf(book)
  return {
    *pair(pair) {
      yield* order(to, facts.store, pair)
      yield* waits(book, to, facts.store, pair)
      yield* window(to, pair)
      const { service, event, path } = pair
      // the star of a service without rows is ours, not the book's
      if (!words || path.length < 4 || !isPrefix(event) || words.serves(event)) return
      yield {
        id: 'row-without-topic',
        path,
        reason: `${to.name} can't subscribe to a beginning of names, and no topic of the book carries ${event}: ${service} could not start with a handler for ${event}`,
        fix: `name the topic: 'topics: { my-topic: ["${event}"] }'`,
      }
    },
  }
}

/** The stores that can hold keys in retry for a transport that keeps the order of arrival only. */
const COMPANIONS: ReadonlySet<string> = new Set(['sqlite', 'memory', 'postgres', 'postgresql'])

/** A store that nobody named is sqlite: beside a broker. */
function* order(
  to: TransportFacts,
  store: string | undefined,
  { rules, from, example }: Pair,
): Generator<Remark> {
  if (rules.order !== 'key' || to.order === 'key') return
  if (to.order === 'owner' && (store === undefined || COMPANIONS.has(store))) return
  const path = from('order')
  if (!path) return
  yield {
    id: 'order-not-kept',
    path,
    reason:
      to.order === 'owner'
        ? `on ${to.name} a retry leaves the order of arrival, and the store, ${store}, can't hold its key meanwhile${example(path)}`
        : `${to.name} can't keep order by key${example(path)}`,
    fix:
      to.order === 'owner'
        ? "use a postgres: store beside it, on one host a sqlite: one, or write 'order: none'"
        : "run it on a transport that keeps order by key, such as sqlite: or postgres:, or write 'order: none'",
  }
}

function* waits(
  book: RuleBook,
  to: TransportFacts,
  store: string | undefined,
  pair: Pair,
): Generator<Remark> {
  const { longest } = delaysOf(pair.rules.policy)
  if (longest <= to.later) return
  const path = policyFrom(book, pair)
  if (!path) return
  const kept = store === undefined || COMPANIONS.has(store)
  const then = kept ? 'go through the store' : 'go through it again and again'
  yield {
    id: 'delay-past-transport',
    path,
    reason: `it may wait ${showDuration(Math.round(longest))}, and ${to.name} keeps a wait of ${showDuration(to.later)} at most: longer ones ${then}${pair.example(path)}`,
    fix: `keep delays within ${showDuration(to.later)}, or silence this where ${kept ? 'the store is there for it' : 'that is fine'}`,
  }
}

/** Where a policy is defined; where it is built in, where it is chosen. */
const policyFrom = (book: RuleBook, { rules, from }: Pair): Path | undefined => {
  const { name } = rules.policy
  return book.written.policies && Object.hasOwn(book.written.policies, name)
    ? ['policies', name]
    : from('policy')
}

function* window(to: TransportFacts, pair: Pair): Generator<Remark> {
  const { rules, whole, from, fromService, example } = pair
  const turns = Math.ceil(whole.window / whole.concurrency)
  const worst = turns * rules.timeout
  if (to.unsettled === undefined || worst <= to.unsettled) return
  const path = fromService('window') ?? from('timeout')
  if (!path) return
  yield {
    id: 'window-outlasts-broker',
    path,
    reason: `the last of ${whole.window} deliveries may wait ${turns - 1} turns of ${showDuration(rules.timeout)}, and ${to.name} takes back what is not settled after ${showDuration(to.unsettled)}${example(path)}`,
    fix: "make 'window' smaller, 'concurrency' larger or 'timeout' shorter",
  }
}
