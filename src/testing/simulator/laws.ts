import type { Millis } from '../../core/time.ts'
import type { Account } from './account.ts'
import { type Fate, isOver, nameOf } from './fate.ts'

/** Whether every event that was taken in has come to its end, or waits behind a dead one for somebody to help. */
export const isQuiet = ({ fates, lines }: Account): boolean => {
  for (const fate of fates.values())
    if ((fate.homes > 0 || (fate.accepted !== undefined && !isOver(fate))) && !lines.isHeld(fate))
      return false
  return true
}

/** Whether each letter lies somewhere; one that the office just takes over does not. */
export const haveLetters = ({ fates }: Account, letters: ReadonlySet<string>): boolean => {
  for (const { deaths } of fates.values())
    for (const { letter } of deaths.values()) if (!letters.has(letter)) return false
  return true
}

/** What must be so when nothing is on its way any more. */
export const checkEnd = (account: Account, letters: ReadonlySet<string>, calm: boolean): void => {
  for (const fate of account.fates.values()) {
    const name = nameOf(fate)
    if (fate.homes !== 0) account.broken('I1', `${name}: ${fate.homes} parcels are still on their way`)
    else if (fate.accepted !== undefined && !isOver(fate))
      account.broken('I1', `${name} was taken in, and is neither done nor dead`)
    for (const { letter } of fate.deaths.values())
      if (!letters.has(letter)) account.broken('I1', `${name} was buried, and its letter is nowhere`)
    if (fate.transaction) checkEffect(account, fate)
    if (fate.dedup && fate.excuses === 0) checkExcuseless(account, fate, calm)
  }
}

/** No fault excuses what a transaction promises: the effect is there where its event is done. Twice is noted at the commit. */
const checkEffect = (account: Account, fate: Fate): void => {
  const name = nameOf(fate)
  if (fate.doneAt !== undefined && fate.effects === 0)
    account.broken('I3', `${name} is done, and its effect never happened`)
  // of two copies one may come when its time is over; a lost answer may let the last attempt look failed; and of two with one
  // id the ledger may know the other, from a claim for its burial, when the inbox knows this one
  const twin = account.fates.has(nameOf({ ...fate, twin: !fate.twin }))
  if (fate.excuses > 0 || fate.copies > 1 || twin || fate.effects === 0) return
  if (fate.deaths.has(fate.doneIn)) account.broken('I1', `${name} has its effect, and is dead as well`)
}

/** Nothing went wrong with it: so it has one end only, its claim is free, and it was not kept waiting by others. */
const checkExcuseless = (account: Account, fate: Fate, calm: boolean): void => {
  const name = nameOf(fate)
  if (fate.doneAt !== undefined && fate.deaths.has(fate.doneIn))
    account.broken('I1', `${name} is done and dead as well`)
  if (fate.claimedBy) account.broken('I4', `${name}: its claim was never released`)
  // one that ran twice was in a batch with others, and shared what they did
  if (!calm || !QUICK.includes(fate.does) || fate.orderKey !== undefined || fate.tries > 1) return
  if (fate.doneAt === undefined || fate.accepted === undefined) return
  // whoever is not taken because the only process stands still is not kept waiting by others
  const took = fate.doneAt - fate.accepted - account.stoodStill(fate.accepted, fate.doneAt)
  if (took > LONGEST) account.broken('I7', `${name} goes well at once, and took ${took} ms behind others`)
}

const QUICK: readonly string[] = ['ok', 'at once']
/** Far more than slow handlers before it need, and less than the longest wait of a retry. */
const LONGEST: Millis = 6000
