import type { Delivery } from '../../contracts/transport.ts'
import type { Claim, Ending, Held, LedgerKey } from '../../core/ledger.ts'
import { nameOf, type Out } from './fate.ts'
import type { Life } from './life.ts'
import type { Noted } from './noted.ts'

/** I4: nobody acts on what he has lost. */
export interface Tokens {
  claimed(who: Life, key: LedgerKey, claim: Claim): void
  finished(who: Life, held: Held, as: Ending, changed: boolean): void
}

export interface Holding extends Tokens {
  mayAct(out: Out | undefined, delivery: Delivery, what: string): void
  endClaim(delivery: Delivery): void
}

export const createTokens = ({ trace, broken, fateOfKey, next }: Noted): Holding => {
  /** Only the last one who was handed a parcel changes anything; with `claims`, only under the last token. */
  const mayAct = (out: Out | undefined, delivery: Delivery, what: string): void => {
    if (out?.superseded) broken('I4', `${nameOf(out.fate)}: a holder that had lost it did ${what}`)
    const { claim } = delivery
    if (!out || claim?.is !== 'fresh' || claim.held.token === out.fate.token) return
    broken('I4', `${nameOf(out.fate)}: ${what} under token ${claim.held.token}, ${out.fate.token} is current`)
  }
  const endClaim = (delivery: Delivery): void => {
    if (delivery.claim?.is !== 'fresh') return
    const fate = fateOfKey(delivery.claim.held.key)
    if (fate.token === delivery.claim.held.token) fate.claimedBy = undefined
  }

  return {
    mayAct,
    endClaim,
    claimed: (life, key, claim) => {
      const fate = fateOfKey(key)
      if (claim.is !== 'fresh')
        return trace(life.name, `${nameOf(fate)} claim for attempt ${key.attempt}: ${claim.is}`)
      const { token } = claim.held
      trace(
        life.name,
        `${nameOf(fate)} claimed for attempt ${key.attempt}, token ${token}, crashes ${claim.crashes}`,
      )
      if (token <= fate.token) broken('I4', `${nameOf(fate)}: token ${token} after ${fate.token}`)
      fate.token = Math.max(token, fate.token)
      fate.claimedBy = life
    },
    finished: (life, { key, token }, as, changed) => {
      const fate = fateOfKey(key)
      trace(
        life.name,
        `${nameOf(fate)} claim ${token} ends as ${as}${changed ? '' : ', which changes nothing'}`,
      )
      if (!changed) return
      if (as === 'done' && fate.completed) fate.recorded ??= next()
      if (token === fate.token) fate.claimedBy = undefined
      else broken('I4', `${nameOf(fate)}: token ${token} ended the claim of ${fate.token}`)
    },
  }
}
