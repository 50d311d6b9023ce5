import { payloadHash } from '../core/event.ts'
import type { Parcel } from '../core/parcel.ts'
import type { Instant, Millis } from '../core/time.ts'
import type { Verdict } from '../core/verdict.ts'

/** How an attempt ended. */
export interface Ended {
  readonly verdict: Verdict
  readonly took: Millis
}

/**
 * Attempts that ended when their delivery was no longer ours: the connection was lost, or the broker had waited for too
 * long. The same attempt comes again, and need not be run again by a process that knows how it ended. One that outlasts its
 * broker's patience each time would else be run for ever, and none of its attempts would count.
 */
export interface Overtaken {
  remember(topic: string, parcel: Parcel, ended: Ended): void
  /** Once: each stands for one delivery that comes again. */
  recall(topic: string, parcel: Parcel): Ended | undefined
}

/** Of so many, and for so long: longer than brokers wait for a settlement. */
const MOST_REMEMBERED = 1000
const REMEMBERED: Millis = 60 * 60_000

export const createOvertaken = (now: () => Instant): Overtaken => {
  const known = new Map<string, { readonly ended: Ended; readonly at: Instant }>()
  /** Those that went to other processes: else each event would be looked for among them for ever. */
  const forget = (): void => {
    for (const [name, { at }] of known) {
      if (now() - at < REMEMBERED) return
      known.delete(name)
    }
  }
  return {
    remember: (topic, parcel, ended) => {
      const name = nameOf(topic, parcel)
      known.delete(name)
      known.set(name, { ended, at: now() })
      if (known.size > MOST_REMEMBERED) known.delete(known.keys().next().value!)
    },
    recall: (topic, parcel) => {
      forget()
      if (known.size === 0) return undefined // nearly always
      const name = nameOf(topic, parcel)
      const found = known.get(name)
      known.delete(name)
      return found?.ended
    },
  }
}

const nameOf = (topic: string, { event, trail }: Parcel): string => {
  const { source, id, type, extensions, data } = event
  const { generation, spent } = trail
  return JSON.stringify([
    topic,
    type,
    source,
    id,
    extensions.correlationid,
    generation,
    spent,
    payloadHash(data),
  ])
}
