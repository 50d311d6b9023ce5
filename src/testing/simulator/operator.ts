import type { KeptLetter, LetterState } from '../../contracts/letters.ts'
import type { Tools } from '../../contracts/tools.ts'
import { createOffice, type Office } from '../../office/index.ts'
import type { App } from '../../runtime/app.ts'
import type { Account } from './account.ts'

/**
 * Somebody opens the office in one of the processes and sends back what died. Where that process dies in the middle, or a
 * step fails, the caller does it again elsewhere: all of it may be done twice.
 */
export const replayAll = async (app: App, tools: Tools, { account, ...means }: Means): Promise<void> => {
  const office = await openOffice(app, tools)
  // what lies at the destinations is taken over first
  await tools.clock.sleep(500)
  account.operates(means.although)
  await office.replay({}, { although: means.passes })
  if (!means.discards) return
  await tools.clock.sleep(300)
  await giveUpHolding(office, account, means.kept())
}

export interface Means {
  readonly account: Account
  /** What he asks for, and what the office makes of it. */
  readonly although: readonly 'expired'[]
  readonly passes: readonly 'expired'[]
  /** Letters that hold a key are given up as well. */
  readonly discards: boolean
  readonly kept: () => readonly KeptLetter[]
}

/**
 * Gives up the letters that hold keys, as far as the office has them and they are not on their way back. A copy of an event
 * that is dead again may die once more in its first life, and hold its key behind the first letter: that is dealt with already.
 */
export const giveUpHolding = async (
  office: Office,
  account: Account,
  kept: readonly KeptLetter[],
): Promise<void> => {
  const holding = new Set(account.lines.holding())
  const inState = (fits: (state: LetterState) => boolean) =>
    kept.flatMap(({ letter, state }) => (holding.has(letter.id) && fits(state) ? [letter.id] : []))
  const known = inState((state) => state === 'dead again' || state === 'resolved')
  if (known.length > 0) await office.resolve(known, { reason: 'a copy of what is known' })
  const ids = inState((state) => state === 'open' || state === 'quarantined' || state === 'discarded')
  if (ids.length > 0) await office.discard(ids)
}

/** It hears how replays ended for as long as its process lives. */
export const openOffice = async (
  { book, transport, store, destinations }: App,
  tools: Tools,
): Promise<Office> => {
  const office = await createOffice({ book, transport, store, tools })
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
