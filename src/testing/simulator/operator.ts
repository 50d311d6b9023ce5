import type { KeptLetter } from '../../contracts/letters.ts'
import type { Tools } from '../../contracts/tools.ts'
import { createOffice, type Office } from '../../office/index.ts'
import type { App } from '../../runtime/app.ts'
import type { Account } from './account.ts'

/**
 * Somebody opens the office in one of the processes and sends back what died. Where that process dies in the middle, or a
 * step fails, the caller does it again elsewhere: all of it may be done twice.
 */
export const replayAll = async (app: App, tools: Tools): Promise<void> => {
  const office = await openOffice(app, tools)
  // what lies at the destinations is taken over first
  await tools.clock.sleep(500)
  await office.replay({})
}

/** It hears how replays ended for as long as its process lives. */
export const openOffice = async ({ transport, store, destinations }: App, tools: Tools): Promise<Office> => {
  const office = await createOffice({ transport, store, tools })
  await office.open(destinations())
  return office
}

/** One that is on its way back must have been told of; and whose event went well is resolved. */
export const checkReplays = (account: Account, kept: readonly KeptLetter[]): void => {
  for (const { letter, state } of kept) {
    if (state !== 'replaying') continue
    account.broken('I1', `the letter of ${letter.service}/${letter.event.id} is being replayed for ever`)
  }
}
