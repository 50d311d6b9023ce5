import type { RuleBook } from '../book.ts'
import { DEFAULTS } from '../builtin.ts'
import { showDuration } from '../duration.ts'
import type { Path } from '../place.ts'
import { delaysOf } from './delays.ts'
import type { Remark } from './finding.ts'
import type { Check, Facts, Pair } from './scope.ts'

export const idempotency: Check = ({ book, facts }) => ({
  *pair(pair) {
    const { pattern } = pair.rules.idempotency
    if (pattern === 'none') yield* unprotected(pair)
    if (pattern === 'dedup') yield* forgetting(book, pair)
    if (pattern === 'dedup' || pattern === 'transaction') {
      yield* replays(book, pair)
      yield* memory(book, facts, pair)
    }
  },
})

function* unprotected({ from, example }: Pair): Generator<Remark> {
  const path = from('idempotency.pattern')
  if (!path) return
  yield {
    id: 'no-idempotency',
    path,
    reason: `a retry or a redelivery runs the effect again${example(path)}`,
    fix: "choose a pattern: 'dedup' is the safe one; 'upsert' or 'state' where the handler does it itself",
  }
}

/** Where the ledger's memory is decided: by the rules, by the topic, or built in. */
const ttlFrom = (book: RuleBook, { rules, from }: Pair): Path | undefined =>
  from('idempotency.ttl') ??
  (book.topics.get(rules.topic)?.retention === undefined ? undefined : ['topics', rules.topic, 'retention'])

function* forgetting(book: RuleBook, pair: Pair): Generator<Remark> {
  const { rules, from, example } = pair
  const { ttl } = rules.idempotency
  const { span } = delaysOf(rules.policy)
  const path = ttlFrom(book, pair) ?? from('policy')
  if (ttl < span && path) {
    yield {
      id: 'dedup-shorter-than-retries',
      path,
      reason: `events are remembered for ${showDuration(ttl)} and retried for ${showDuration(Math.round(span))}: a second copy can run beside a retry${example(path)}`,
      fix: `remember them longer: 'idempotency: { ttl: … }' above ${showDuration(Math.round(span))}`,
    }
  }
  const retention = book.topics.get(rules.topic)?.retention
  const own = from('idempotency.ttl')
  if (own && retention !== undefined && ttl < retention) {
    yield {
      id: 'dedup-shorter-than-topic',
      path: own,
      reason: `the topic ${rules.topic} keeps events for ${showDuration(retention)}, and they are remembered for ${showDuration(ttl)}: reading it again runs them again${example(own)}`,
      fix: `take 'ttl' away, so that it follows the topic, or make it ${showDuration(retention)} or more`,
    }
  }
}

/**
 * A letter replayed once and, when the ledger has forgotten that, once more, has two effects. With what is built in
 * (7 days, letters 30 days, replays by hand) the office's own record is enough; whoever shortens the one, lengthens
 * the other or lets replays run by themselves depends on the ledger.
 */
function* replays(book: RuleBook, pair: Pair): Generator<Remark> {
  const { rules, from, example } = pair
  const { idempotency: own, deadLetter, policy } = rules
  const needed = delaysOf(policy).span + deadLetter.retention
  if (own.ttl >= needed) return
  const causes = [
    own.ttl < DEFAULTS.ledgerTtl ? ttlFrom(book, pair) : undefined,
    deadLetter.retention > DEFAULTS.retention ? from('deadLetter.retention') : undefined,
    deadLetter.reprocessing === 'manual' ? undefined : from('deadLetter.reprocessing'),
  ]
  const path = causes.find((cause) => cause !== undefined)
  if (!path) return
  yield {
    id: 'dedup-shorter-than-replay',
    path,
    reason: `letters can be replayed for ${showDuration(deadLetter.retention)}, and what was done is remembered for ${showDuration(own.ttl)}: a late second replay has a second effect${example(path)}`,
    fix: `remember events for ${showDuration(Math.ceil(needed / 86_400_000) * 86_400_000)}, or keep letters for less time`,
  }
}

function* memory(book: RuleBook, { instances = 1, store: app }: Facts, pair: Pair): Generator<Remark> {
  const { store } = pair.rules.idempotency
  if (instances <= 1 || schemeOf(book, store, app) !== 'memory') return
  const named = pair.from('idempotency.store')
  const url = book.stores.get(store) === undefined ? undefined : ['stores', store]
  const path = named ?? url ?? ['services']
  yield {
    id: 'memory-ledger',
    path,
    reason: `${instances} processes that each remember in their own memory run an event once each${pair.example(path)}`,
    fix: 'keep the ledger in a store that they share, such as a database',
  }
}

/** A named store without a URL is served by the app's own. */
const schemeOf = (book: RuleBook, store: string, app: string | undefined): string | undefined => {
  const url = book.stores.get(store)
  if (url !== undefined) return /^[a-z][a-z0-9+]*/i.exec(url)?.[0].toLowerCase()
  return app ?? (store === 'memory' ? 'memory' : undefined)
}
