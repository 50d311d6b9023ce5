import type { Ledger } from '../../contracts/ledger.ts'
import type { Tools } from '../../contracts/tools.ts'
import { createUnanswered, type Unanswered } from '../../core/unanswered.ts'
import { claimAll } from './claiming.ts'
import { endWithin, heldName } from './ending.ts'
import { inOrder, instant, type Name, textOf } from './keys.ts'
import type { Pool } from './pool.ts'
import { rowStatements } from './rows.ts'
import { again } from './trouble.ts'

/** `wrote` is told how many rows were claimed, for whoever clears away. */
export const ledgerOf = (
  pool: Pool,
  schema: string,
  { clock, dice }: Tools,
  wrote: (rows: number) => void,
  unanswered: Unanswered = createUnanswered(dice.uuid),
): Ledger => {
  const statements = rowStatements(schema)
  return {
    claim: async (keys, until) => {
      if (keys.length === 0) return []
      const claims = await unanswered.claim((holder) => {
        const asking = { now: clock.now(), until: instant(until), holder, unanswered: unanswered.holders }
        return claimAll(pool, statements, keys, asking)
      })
      wrote(keys.length)
      return claims
    },
    begin: async (held) => (await again(() => pool.ask(statements.begin(held)))).rows.length === 1,
    renew: async (held, until) => {
      if (held.length > 0)
        await again(() => pool.ask(statements.renew(inOrder(held, heldName), instant(until))))
    },
    acquit: async (held) => {
      if (held.length === 0) return []
      const { rows } = await again(() => pool.ask(statements.acquit(inOrder(held, heldName))))
      const acquitted = new Set(rows.map(({ service, id }) => textOf({ service, id } as Name)))
      return held.map((each) => acquitted.delete(textOf(heldName(each))))
    },
    finish: async (ends) => {
      if (ends.length === 0) return []
      const now = clock.now()
      return again(() => endWithin(pool.ask, statements, ends, now))
    },
  }
}
