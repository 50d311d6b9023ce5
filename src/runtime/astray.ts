import type { Tools } from '../contracts/tools.ts'
import type { Delivery } from '../contracts/transport.ts'
import { classify } from '../core/classify.ts'
import type { Failure } from '../core/failure.ts'
import type { Instant, Millis } from '../core/time.ts'
import { decide } from '../core/verdict.ts'
import { about } from './about.ts'
import { heldBy } from './claims.ts'
import type { Plan } from './plan.ts'
import type { Settler } from './settle.ts'
import { stepFor, type Way } from './step.ts'
import { tell } from './tell.ts'

/** So long what can't even be buried waits in hand before it goes back, at first and at most. */
const PAUSE: Millis = 1000
const LONGEST: Millis = 60_000
/** Of so many it is remembered how long they waited. */
const MOST_REMEMBERED = 1000

/** A delivery on whose way something was thrown that nobody foresaw. `over` is called when it is no longer ours. */
export type Astray = (
  thrown: unknown,
  delivery: Delivery,
  door: Way & { readonly settler: Settler },
  over: () => void,
) => void

/**
 * Left in hand nobody would ever settle it, and many brokers have no lease that would end; given back it would go round for
 * ever where it throws each time. So it counts as an attempt that failed for an unknown reason: tried again as often as
 * the rules grant that, then buried with what was thrown. Those that came with it go on.
 *
 * What throws on that way too goes back with nothing spent, after a pause that grows; and so does what the ledger knows as
 * done, stale or held by another, of which nothing need be saved.
 */
export const createAstray = (
  { clock, journal }: Tools,
  { rulesOf }: Pick<Plan, 'rulesOf'>,
  hurry: AbortSignal,
): Astray => {
  const pauseFor = createPauses()

  const asFailed = (failure: Failure, delivery: Delivery, door: Way, now: Instant) => {
    const { parcel, claim } = delivery
    if (claim && claim.is !== 'fresh') return undefined
    const { service, topic } = door.subscription
    const rules = rulesOf(topic, parcel.event.type)
    const verdict = decide({ policy: rules.policy }, parcel.trail, { is: 'failed', failure }, now, EVEN)
    const [held] = heldBy(delivery)
    const step = { ...stepFor(verdict, delivery, rules, door, now), ...(held && { held }) }
    return { verdict, step, fact: about(service, topic, parcel.event) }
  }

  return (thrown, delivery, door, over) => {
    const { service, topic } = door.subscription
    const now = clock.now()
    const failure = failureOf(thrown)
    const trouble = {
      at: now,
      is: 'trouble',
      where: `the walk of an event of ${service}`,
      error: thrown instanceof Error ? thrown : new Error(failure.message),
    } as const
    const next = orNothing(() => asFailed(failure, delivery, door, now))
    if (!next) {
      const retryIn = pauseFor(orNothing(() => delivery.parcel.event.id) ?? '', now)
      const fact = orNothing(() => about(service, topic, delivery.parcel.event))
      journal({ ...trouble, retryIn, ...(fact && { about: fact }) })
      const [held] = heldBy(delivery)
      const back = { do: 'give back', delivery, ...(held && { held }) } as const
      return void clock.sleep(retryIn, hurry).then(() => door.settler.settle(back, over))
    }
    const { verdict, step, fact } = next
    const tried = { at: now, number: delivery.parcel.trail.spent + 1, took: 0 }
    const retryIn = verdict.do === 'retry' ? { retryIn: verdict.due - now } : {}
    journal({ ...trouble, ...retryIn, about: fact })
    journal({ at: now, is: 'failed', attempt: tried.number, took: 0, failure, ...fact })
    door.settler.settle(step, (settled) => {
      if (settled === 'done') tell(journal, verdict, step, fact, tried)
      else journal({ at: clock.now(), is: 'lost', ...fact })
      over()
    })
  }
}

/** No chance in it: what was thrown may have been the dice. */
const EVEN = (): number => 0.5

/** Whatever it looks like: where it came from nothing is known of it. */
const failureOf = (thrown: unknown): Failure => {
  const { kind, name, message, stack } = classify(thrown)
  const because = 'it was thrown outside of the handler, where nobody foresaw it'
  return { category: 'unknown', kind, name, message, stack, because }
}

/** What is looked at may be what throws. */
const orNothing = <T>(look: () => T): T | undefined => {
  try {
    return look()
  } catch {
    return undefined
  }
}

/** Twice as long each time, by the event's id; who was well for as long as it may last begins anew. */
const createPauses = () => {
  const known = new Map<string, { readonly pause: Millis; readonly at: Instant }>()
  return (id: string, now: Instant): Millis => {
    const last = known.get(id)
    const pause = last && now - last.at < 2 * LONGEST ? Math.min(last.pause * 2, LONGEST) : PAUSE
    known.delete(id)
    known.set(id, { pause, at: now })
    if (known.size > MOST_REMEMBERED) known.delete(known.keys().next().value!)
    return pause
  }
}
