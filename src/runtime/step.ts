import type { Address, Delivery } from '../contracts/transport.ts'
import { fingerprint } from '../core/fingerprint.ts'
import { type Receipt, writeLetter } from '../core/letter.ts'
import { redactLetter } from '../core/redact.ts'
import { route } from '../core/route.ts'
import type { Verdict } from '../core/verdict.ts'
import { quarantineFor, type Rules } from '../rules/index.ts'
import type { Step } from './settle.ts'

/** Of the door a delivery came in by, what decides where it goes next. */
export interface Way {
  readonly subscription: Address
  /** The name of the app's transport, whichever inlet this one is. */
  readonly transport: string
  /** The longest wait this inlet's transport keeps by itself. */
  readonly later: number
  /** There is a companion for longer ones. */
  readonly companion: boolean
}

/** What the verdict asks of this transport: still a value, with the letter written where it is to be buried. */
export const stepFor = (
  verdict: Verdict,
  delivery: Delivery,
  rules: Pick<Rules, 'policy' | 'deadLetter' | 'order' | 'afterDeath' | 'redact'>,
  door: Way,
  now: number,
): Step => {
  const { destination, quarantine: aside } = rules.deadLetter
  const quarantine = verdict.do === 'quarantine' ? quarantineFor(aside, verdict.failure.kind) : aside
  const ways = { later: door.later, companion: door.companion, deadLetter: destination, quarantine }
  const way = route(verdict, delivery.parcel, ways, now)
  switch (way.do) {
    case 'ack':
      return ackOf(delivery, 'done', now)
    case 'later':
    case 'companion':
      return { do: way.do, delivery, parcel: way.parcel }
    case 'bury': {
      const { service, topic, consumerGroup } = door.subscription
      const where = { service, topic, consumerGroup, transport: door.transport }
      const { type } = delivery.parcel.event
      const death = {
        reason: way.reason,
        failure: way.failure,
        at: now,
        limit: rules.policy.retries + 1,
        fingerprint: fingerprint(way.failure, { service, topic, type }),
      }
      const whole = writeLetter({ ...delivery.parcel, trail: way.trail }, where, way.to, death)
      return {
        do: 'bury',
        delivery,
        to: way.to,
        letter: rules.redact ? redactLetter(whole, rules.redact) : whole,
        ...(rules.order === 'key' && rules.afterDeath === 'hold' && { holds: true }),
      }
    }
  }
}

/** The office that replayed the event waits to hear how it ended; a death it hears of by the new letter. */
export const ackOf = (delivery: Delivery, outcome: Receipt['outcome'], at: number): Step => {
  const { replay, spent } = delivery.parcel.trail
  if (!replay) return { do: 'ack', delivery }
  const receipt = { letter: replay.letter, to: replay.receiptTo, outcome, at, attempts: spent + 1 }
  return { do: 'ack', delivery, receipt }
}
