import { DEFAULTS } from '../builtin.ts'
import { showDuration } from '../duration.ts'
import type { Path } from '../place.ts'
import { delaysOf } from './delays.ts'
import type { Remark } from './finding.ts'
import type { Check, Pair, Scope } from './scope.ts'

/** Times that stand in each other's way. */
export const times: Check = (scope) => ({
  *pair(pair) {
    yield* lease(pair)
    yield* lives(scope, pair)
    yield* batch(scope, pair)
  },
})

function* lease({ rules, whole, fromService, example }: Pair): Generator<Remark> {
  if (whole.lease > rules.timeout) return
  const path = fromService('lease')
  if (!path) return
  yield {
    id: 'timeout-past-lease',
    path,
    reason: `an attempt may take ${showDuration(rules.timeout)}, and a delivery is ours for ${showDuration(whole.lease)} at a time: one extension that comes late gives it to another worker too${example(path)}`,
    fix: `make the lease longer than the timeout, or take it away: it is then ${showDuration(rules.timeout + DEFAULTS.leaseSlack)} or more`,
  }
}

function* lives({ book }: Scope, { rules, from, example }: Pair): Generator<Remark> {
  const { span, expected } = delaysOf(rules.policy)
  const told = (ms: number) => showDuration(Math.round(ms))
  const life = from('ttl')
  if (rules.ttl !== undefined && life && Math.min(expected, span) > rules.ttl) {
    yield {
      id: 'retries-beyond-ttl',
      path: life,
      reason: `an event lives for ${showDuration(rules.ttl)}, and its retries take about ${told(Math.min(expected, span))}: the last ones never come${example(life)}`,
      fix: 'let it live longer, or give it a policy with a shorter window',
    }
  }
  const retention = book.topics.get(rules.topic)?.retention
  if (retention === undefined || span <= retention) return
  yield {
    id: 'retries-outlast-topic',
    path: ['topics', rules.topic, 'retention'],
    reason: `retries go on for up to ${told(span)}, and the topic forgets after ${showDuration(retention)}: what is still being tried can't be read again (as for ${rules.service}, ${rules.event})`,
    fix: 'keep the topic longer, or give its events a policy with a shorter window',
  }
}

function* batch({ book }: Scope, pair: Pair): Generator<Remark> {
  const { rules, example } = pair
  if (!rules.batch) return
  const { timeout } = rules.batch
  const path = batchFrom(book, pair) ?? pair.from('timeout') ?? pair.from('batch')
  if (path && timeout >= rules.timeout) {
    yield {
      id: 'batch-timeout-past-timeout',
      path,
      reason: `a batch waits ${showDuration(timeout)} to fill, and an attempt may take ${showDuration(rules.timeout)}: the waiting alone can use it up${example(path)}`,
      fix: "make the batch's 'timeout' much shorter than the event's",
    }
  }
  const { longest } = delaysOf(rules.policy)
  if (path && longest > 0 && timeout > longest) {
    yield {
      id: 'batch-timeout-past-delays',
      path,
      reason: `a batch waits ${showDuration(timeout)} to fill, longer than any delay of the policy (${showDuration(Math.round(longest))} at most): the backoff has no say${example(path)}`,
      fix: "make the batch's 'timeout' shorter than the delays, or the delays longer",
    }
  }
}

/** Where the batch's timeout is written: with the event, or with the batcher that it names. */
const batchFrom = (book: Scope['book'], { service, rules, from }: Pair): Path | undefined => {
  const name = rules.batch?.name
  if (name === undefined) return from('batch.timeout')
  if (book.services.get(service)?.batchers?.[name]?.timeout !== undefined) {
    return ['services', service, 'batchers', name, 'timeout']
  }
  if (book.defaults.batchers?.[name]?.timeout !== undefined) return ['defaults', 'batchers', name, 'timeout']
  return undefined
}
