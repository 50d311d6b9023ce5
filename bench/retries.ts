import { Transient } from '../src/core/errors.ts'
import { type Reprieve, reprieve } from '../src/reprieve.ts'
import type { Probe } from './harness.ts'
import { eventOf, orderOf } from './load.ts'
import { bookOf, type Ours, openSubscribed, watch } from './ours.ts'

export interface Retries extends Pick<Ours, 'ground'> {
  readonly name: string
  /** Round trips to the broker that one retry may take. */
  readonly limit: number
  /** What was asked of the broker so far to settle deliveries; fetching is not. */
  trips(app: Reprieve): number
}

const EVENTS = 20
const WHAT = 'round trips'

/**
 * Each event fails once, and each is out alone, so that none shares a trip with another: the worst case. The trips
 * that acknowledge the second, successful delivery are not the retry's.
 */
const rules = {
  concurrency: 1,
  window: 1,
  idempotency: { pattern: 'upsert' },
  policy: { backoff: 'fixed', delay: '100ms', retries: 1 },
}

export const retryProbe = ({ name, limit, ground, trips }: Retries): Probe => ({
  name,
  limits: { [WHAT]: limit },
  run: async () => {
    const { first, ground: here, options, names } = await openSubscribed({ name, rules, ground })
    const { service, type } = names
    await first.publishEvents(Array.from({ length: EVENTS }, (_, i) => eventOf(type, orderOf(i))))
    await first.close()
    const watched = watch(['failed', 'retry'])
    // without an office: its own trips have nothing to do with the retries
    const app = await reprieve({
      ...options,
      rules: bookOf(rules, service),
      journal: watched.journal,
      office: false,
    })
    let before: number | undefined
    app.service(service).on(type, (_, { attempt }) => {
      before ??= trips(app)
      if (attempt === 1) throw new Transient('the first attempt fails')
    })
    await app.start()
    await watched.until(EVENTS)
    const taken = trips(app) - before!
    await app.close()
    await here.close(names)
    return { [WHAT]: (taken - EVENTS) / EVENTS }
  },
})
