import type { Letter } from '../../core/letter.ts'
import type { Instant } from '../../core/time.ts'
import { type Fate, nameOf } from './fate.ts'
import type { Broken } from './violation.ts'

/** Looked at before each attempt. */
export const checkInTime = (fate: Fate, now: Instant, broken: Broken): void => {
  if (now >= fate.expires) broken('expiry', `${nameOf(fate)} ran ${now - fate.expires} ms after its time`)
}

/** What had its first turn too late dies of that; what is worth handling does not, unless it would be kept until too late. */
export const checkReason = (fate: Fate, { reason }: Letter, now: Instant, broken: Broken): void => {
  const name = nameOf(fate)
  const early = reason === 'expired' && now < fate.expires
  if (early && fate.does !== 'calls') broken('expiry', `${name} was buried as expired before its time`)
  // what can't be decoded, or is known as another, is never looked at; what kills is set aside before
  const isOther = reason === 'conflict' || reason === 'poison' || reason === 'undecodable'
  if (reason === 'expired' || isOther || fate.tries > 0 || now < fate.expires) return
  broken('expiry', `${name} was never run, its time is over, and its letter says ${reason}`)
}

/** An operator who has not said otherwise sends nothing back whose time was over when he began. */
export const checkReplay = (fate: Fate, began: Instant, broken: Broken): void => {
  if (fate.expires <= began) broken('expiry', `${nameOf(fate)} was replayed though its time was over`)
}
