import { systemClock } from '../../adapters/system/clock.ts'
import { systemDice } from '../../adapters/system/dice.ts'
import { type Auditing, createAuditing } from '../../office/index.ts'
import { openAudited } from '../../open.ts'
import { DEFAULT_URL } from '../../reprieve.ts'
import type { Common } from '../options.ts'

export interface Audited extends AsyncDisposable {
  readonly audit: Auditing
}

/** The audit in the app's store; no broker is asked. A store that is not there is not made: it would be found intact. */
export const openAudit = async ({ store: named, transport }: Common): Promise<Audited> => {
  const tools = { clock: systemClock, dice: systemDice(), journal: () => {} }
  const url = named || (transport && KEEPS_ALL.test(transport) ? transport : DEFAULT_URL)
  const store = await openAudited(url, tools)
  return {
    audit: createAuditing(store.audit, systemClock),
    [Symbol.asyncDispose]: async () => {
      await store.companion?.close()
      await store.close()
    },
  }
}

/** Transports that are the app's store too, where no other is named. */
const KEEPS_ALL = /^(?:sqlite|memory):/
