import { systemClock } from '../../adapters/system/clock.ts'
import { systemDice } from '../../adapters/system/dice.ts'
import { type Auditing, createAuditing } from '../../office/index.ts'
import { openAudited } from '../../open.ts'
import { type Common, storeUrl } from '../options.ts'

export interface Audited extends AsyncDisposable {
  readonly audit: Auditing
}

/** The audit in the app's store; no broker is asked. A store that is not there is not made: it would be found intact. */
export const openAudit = async (flags: Common): Promise<Audited> => {
  const tools = { clock: systemClock, dice: systemDice(), journal: () => {} }
  const store = await openAudited(storeUrl(flags), tools)
  return {
    audit: createAuditing(store.audit, systemClock),
    [Symbol.asyncDispose]: async () => {
      await store.companion?.close()
      await store.close()
    },
  }
}
