import { ReprieveError } from '../core/error.ts'
import type { Registered } from './attempt.ts'
import type { Plan } from './plan.ts'

/** Rules that promise a transaction where there is none would promise what nobody keeps. */
export const checkTx = (
  service: string,
  { subscriptions, rulesOf }: Plan,
  handlers: ReadonlyMap<string, Registered>,
  has: boolean,
): void => {
  for (const { topic, types } of subscriptions) {
    for (const type of types) {
      if (rulesOf(topic, type).idempotency.pattern !== 'transaction') continue
      const asked = `${service} handles ${type}, for which the rules say idempotency: { pattern: transaction }`
      if (!has) {
        throw new ReprieveError('bad_rules', `${asked}, and the app has no database for it`, {
          fix: 'give it one: reprieve({ tx: postgresTx(pool) }), or a store in sqlite:; or choose another pattern, such as dedup',
        })
      }
      if (handlers.get(type)?.together) {
        throw new ReprieveError('bad_rules', `${asked}, in batches, which have no ctx.tx`, {
          fix: 'handle it with on, one event in each transaction; or choose another pattern, such as upsert',
        })
      }
    }
  }
}
