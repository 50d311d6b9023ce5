import { ReprieveError } from '../core/error.ts'
import type { Plan } from './plan.ts'

/** Rules that promise a transaction where there is none would promise what nobody keeps. */
export const checkTx = (service: string, { subscriptions, rulesOf }: Plan, has: boolean): void => {
  if (has) return
  for (const { topic, types } of subscriptions) {
    const type = types.find((each) => rulesOf(topic, each).idempotency.pattern === 'transaction')
    if (type === undefined) continue
    throw new ReprieveError(
      'bad_rules',
      `${service} handles ${type}, for which the rules say idempotency: { pattern: transaction }, and the app has no database for it`,
      {
        fix: 'give it one: reprieve({ tx: postgresTx(pool) }), or a store in sqlite:; or choose another pattern, such as dedup',
      },
    )
  }
}
