import type { Delivery } from '../../contracts/transport.ts'
import type { Event } from '../../core/event.ts'
import type { Letter } from '../../core/letter.ts'
import type { Parcel } from '../../core/parcel.ts'
import type { Instant } from '../../core/time.ts'
import { KILLS } from './book.ts'
import { checkReason, checkReplay } from './expiry.ts'
import { endsOf, isTwin, letterName, nameOf, type Out, tellParcel } from './fate.ts'
import type { Life } from './life.ts'
import { isRevival } from './lines.ts'
import type { Noted } from './noted.ts'
import type { Holding } from './tokens.ts'

/** I2: whatever was taken in lies somewhere, or is done, or dead; and comes from there when it is due. */
export interface Homes {
  /** The publisher was told that it is durable. */
  accepted(event: Event): void
  /** The world took it in, for one service. */
  placed(service: string, parcel: Parcel, how: string): void
  /** It was sent to its subscription and not put there: whether it came to life where it lay dead. */
  revived(service: string, parcel: Parcel): boolean
  /** What waits behind this letter was let go. */
  released(service: string, letter: string): void
  /** An operator begins to replay; what is expired only where he says so. */
  operates(although: readonly 'expired'[]): void
  handedOver(life: Life, service: string, delivery: Delivery): void
  /** Gone from where it lay. */
  removed(life: Life, service: string, delivery: Delivery): void
  buried(life: Life, letter: Letter): void
  later(life: Life, service: string, delivery: Delivery, parcel: Parcel): void
  givenBack(life: Life, service: string, delivery: Delivery): void
  lost(life: Life, service: string, delivery: Delivery): void
}

export const createHomes = (noted: Noted, { mayAct, endClaim, claimed }: Holding): Homes => {
  const { now, trace, fates, broken, namesakes, fateOf, next, outs, latest, lines } = noted
  /** When somebody began to replay who does not want what is expired. */
  let replayedFrom: Instant | undefined
  let places = 0
  const forget = (delivery: Delivery): Out | undefined => {
    const out = outs.get(delivery)
    if (!out) return undefined
    outs.delete(delivery)
    const { outs: own } = out.fate
    own.splice(own.indexOf(out), 1)
    return out
  }

  return {
    accepted: (event) => {
      for (const fate of fates.values())
        if (fate.id === event.id && fate.twin === isTwin(event)) fate.accepted ??= now()
    },
    placed: (service, parcel, how) => {
      const fate = fateOf(service, parcel.event)
      fate.homes++
      fate.due = parcel.due
      if (how !== 'again') fate.copies++
      if (fate.place < 0) {
        fate.place = places++
        lines.enter(fate)
      }
      if (fate.outgoing && fate.accepted === undefined)
        broken('I3', `${nameOf(fate)} is published, and what led to it was never committed`)
      if (parcel.trail.generation > 0 && replayedFrom !== undefined) checkReplay(fate, replayedFrom, broken)
      trace('world', `${nameOf(fate)} ${how}: ${tellParcel(parcel, now())}`)
    },
    revived: (service, parcel) => {
      const fate = fateOf(service, parcel.event)
      if (!isRevival(fate, parcel)) return false
      fate.holding = undefined
      return true
    },
    released: (service, letter) => {
      for (const fate of fates.values()) {
        if (fate.service !== service || fate.holding !== letter) continue
        fate.holding = undefined
        fate.freed = true
        trace('world', `${nameOf(fate)} no longer holds ${fate.orderKey}`)
      }
    },
    operates: (although) => {
      // whoever does it again may name what was marked before its time was over
      if (!although.includes('expired')) replayedFrom ??= now()
    },
    handedOver: (life, service, delivery) => {
      const { parcel, redelivered, claim } = delivery
      const fate = fateOf(service, parcel.event)
      const before = latest.get(parcel)
      if (before) before.superseded = true
      if (before && !redelivered)
        broken('contract', `${nameOf(fate)} came again and was not told redelivered`)
      const due =
        fate.copies > 1 || fate.homes > 1 || fate.excuses > 0 ? parcel.due : Math.max(parcel.due, fate.due)
      if (due > now()) broken('contract', `${nameOf(fate)} came ${due - now()} ms too early`)
      // whoever stands still hears of it when its time may be over
      if (life.pausedUntil > now()) fate.excuses++
      const out: Out = { fate, life, delivery, moment: next(), superseded: false, run: undefined }
      latest.set(parcel, out)
      outs.set(delivery, out)
      fate.outs.push(out)
      trace(life.name, `${nameOf(fate)} received${redelivered ? ' again' : ''}: ${tellParcel(parcel, now())}`)
      if (claim?.is === 'fresh') claimed(life, claim.held.key, claim)
      else if (claim) trace(life.name, `${nameOf(fate)} is ${claim.is}`)
    },
    removed: (life, service, delivery) => {
      const out = forget(delivery)
      mayAct(out, delivery, 'an ack')
      endClaim(delivery)
      const fate = fateOf(service, delivery.parcel.event)
      fate.homes--
      trace(life.name, `${nameOf(fate)} acknowledged, ${fate.homes} left`)
      // elsewhere the ledger's answer tells, which comes before
      if (out?.run?.completed && delivery.claim?.is === 'fresh') fate.recorded ??= next()
      if (fate.completed && fate.doneAt === undefined) {
        fate.doneAt = now()
        fate.doneIn = delivery.parcel.trail.generation
      }
      const { generation } = delivery.parcel.trail
      const isDead = [...fate.deaths.keys()].some((life) => life >= generation)
      if (fate.completed || fate.homes > 0 || isDead) return
      broken('I2', `${nameOf(fate)} was acknowledged: not done, not dead, and nowhere else`)
    },
    buried: (life, letter) => {
      const { service, event, trail, kind, reason } = letter
      const fate = fateOf(service, event)
      trace(life.name, `${nameOf(fate)} buried, life ${trail.generation}, ${trail.spent} spent`)
      if (kind === 'crash' && fate.does !== 'kills' && endsOf(fate, now()) < (fate.dedup ? KILLS : KILLS - 1))
        broken('I7', `${nameOf(fate)} was quarantined for what others did`)
      if (!fate.deaths.has(trail.generation)) {
        fate.deaths.set(trail.generation, { moment: next(), letter: letterName(letter) })
      }
      if (fate.holds && fate.orderKey !== undefined) fate.holding = letter.id
      checkReason(fate, letter, now(), broken)
      if (reason === 'conflict' && namesakes(fate).length < 2)
        broken('I3', `${nameOf(fate)} was buried as a conflict, and no other has its id`)
    },
    later: (life, service, delivery, parcel) => {
      const out = forget(delivery)
      mayAct(out, delivery, 'a later')
      endClaim(delivery)
      const fate = fateOf(service, parcel.event)
      fate.due = parcel.due
      trace(life.name, `${nameOf(fate)} later: ${tellParcel(parcel, now())}`)
    },
    givenBack: (life, service, delivery) => {
      // it may be the broker's doing, and the holder unaware: it then runs what it has lost
      const out = outs.get(delivery)
      if (out) out.superseded = true
      outs.delete(delivery)
      endClaim(delivery)
      trace(life.name, `${nameOf(fateOf(service, delivery.parcel.event))} given back`)
    },
    lost: (life, service, delivery) => {
      forget(delivery)
      const fate = fateOf(service, delivery.parcel.event)
      fate.excuses++
      trace(life.name, `${nameOf(fate)} lost`)
    },
  }
}
