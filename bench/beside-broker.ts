import { failsOnce } from './courses.ts'
import type { Contender } from './harness.ts'
import { WINDOW } from './load.ts'
import { type Ground, type Ours, oursConsuming, oursPublishing } from './ours.ts'

/** What Reprieve is to reach beside the hand-written loop on a broker. */
const AIM = 0.85

/** How long what fails once waits, in milliseconds, ours and that of the raw loops: the shortest wait that we know on RabbitMQ. */
export const WAIT = 100

/** As many out as the raw loop takes at once. `upsert` claims on the app's SQLite only what is tried again. */
const rules = { concurrency: WINDOW, window: WINDOW, idempotency: { pattern: 'upsert' } }
/** As the raw loop, which has none: nobody asks whether a retry came twice. */
const noLedger = { ...rules, idempotency: { pattern: 'none' } }
const onSqlite = { ...rules, idempotency: { pattern: 'dedup' } }
/** Forgotten soon: the server may be somebody's. */
const onRedis = { ...rules, idempotency: { pattern: 'dedup', store: 'redis', ttl: '10m' } }

const policy = { backoff: 'fixed', delay: `${WAIT}ms`, jitter: 'none', retries: 1 }

/** How Reprieve takes part in the races on every broker. */
export const besideBroker = (ground: () => Promise<Ground>, redis: { readonly url: string } | undefined) => {
  const stores = redis && { redis: redis.url }

  const publishing: readonly Contender[] = [
    oursPublishing({ name: 'reprieve', aim: AIM, rules, ground }),
    oursPublishing({ name: 'reprieve, a call for each', rules, ground }, true),
  ]

  const consuming: readonly Contender[] = [
    oursConsuming({ name: 'reprieve', aim: AIM, rules, ground }),
    oursConsuming({ name: 'reprieve, ledger on SQLite', rules: onSqlite, ground }),
    ...(stores ? [oursConsuming({ name: 'reprieve, ledger on Redis', rules: onRedis, stores, ground })] : []),
  ]

  const failing = (name: string, by: typeof rules, more: Pick<Ours, 'aim' | 'stores'> = {}) =>
    oursConsuming({ name, rules: { ...by, policy }, course: failsOnce, ground, ...more })
  const failingOnce: readonly Contender[] = [
    failing('reprieve', noLedger, { aim: AIM }),
    failing('reprieve, retries claimed on SQLite', rules),
    failing('reprieve, ledger on SQLite', onSqlite),
    ...(stores ? [failing('reprieve, ledger on Redis', onRedis, { stores })] : []),
  ]

  return { publishing, consuming, failingOnce }
}
