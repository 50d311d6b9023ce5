import type { Tools } from '../contracts/tools.ts'
import { decodeData, type Priority } from '../core/event.ts'
import { idempotencyKeyOf } from '../core/idempotency-key.ts'
import type { Batch, Rules } from '../rules/index.ts'
import { broken, failed, type Registered } from './attempt.ts'
import { createGathering } from './batch.ts'
import { attemptBatch, type BatchAttemptOptions } from './batch-attempt.ts'
import { runWithin } from './deadline.ts'
import type { Entering, Passenger } from './passenger.ts'
import type { Solo } from './solo.ts'
import { validated } from './validated.ts'

/** The batches of one service. */
export interface Batches {
  /** Decodes and validates; what does not fit is concluded by itself, the rest is gathered, and its slot given on. */
  enter(entering: Entering): void
  /** What has not begun is left as it is: it stays out, and goes back when its inlet closes. */
  close(): void
  /** How many are gathered and have not begun. */
  readonly size: number
}

export interface BatchesOptions extends Omit<BatchAttemptOptions, 'again'> {
  readonly batchFor: (event: string, priority: Priority | undefined) => Batch
  /** Where fewer may be out a batch can't be larger. */
  readonly window: number
  readonly solo?: Solo
}

/** By whom and in which batch: worked out once for each type and priority. */
interface Place {
  readonly batcher: string
  readonly batch: Batch
}

/** None where every handler takes one event. */
export const batchesFor = (
  options: Omit<BatchesOptions, 'service' | 'journal' | 'now' | 'abandon'> & {
    readonly name: string
    readonly tools: Tools
    readonly handlers: ReadonlyMap<string, Registered>
  },
  abandon: AbortSignal,
): Batches | undefined => {
  const { tools, name: service, handlers } = options
  if (![...handlers.values()].some(({ together }) => together)) return undefined
  return createBatches({ ...options, service, abandon, journal: tools.journal, now: tools.clock.now })
}

const createBatches = (options: BatchesOptions): Batches => {
  const { deadlines, abandon, now, solo } = options
  const places = new WeakMap<Rules, Map<Priority | undefined, Place>>()

  const placeOf = ({ rules, priority, registered }: Passenger): Place => {
    let byPriority = places.get(rules)
    if (!byPriority) {
      byPriority = new Map()
      places.set(rules, byPriority)
    }
    let place = byPriority.get(priority)
    if (!place) {
      const found = options.batchFor(rules.event, priority)
      const batch = { ...found, size: Math.min(found.size, options.window) }
      const { name, size, timeout, concurrency, by } = batch
      place = { batcher: name ?? [registered.pattern, size, timeout, concurrency, by].join(' '), batch }
      byPriority.set(priority, place)
    }
    return place
  }

  const again = (passenger: Passenger): void => {
    const { batcher, batch } = placeOf(passenger)
    gathering.alone(passenger, batcher, batch)
    // nothing of it has ended, and a suspect may wait for just this batch
    if (solo?.closed) solo.look()
  }

  const gathering = createGathering<Passenger>(
    deadlines,
    (passengers, batch, departed, ended) =>
      attemptBatch({ ...options, again }, passengers, batch, departed, ended),
    () => !solo?.closed,
  )
  // a suspect runs beside no batch either
  solo?.join({
    hasSuspect: () => false,
    hasOthers: () => gathering.size > 0,
    doing: () => (gathering.running > 0 ? 'handling' : 'nothing'),
    runSuspect: () => {},
    goOn: gathering.goOn,
  })

  const gather = (passenger: Passenger): void => {
    const { batcher, batch } = placeOf(passenger)
    const { pattern } = passenger.registered
    const key = batch.by === 'source' ? `${pattern}\n${passenger.event.source}` : pattern
    gathering.add(passenger, batcher, batch, key)
  }

  return {
    get size() {
      return gathering.size
    },
    enter: (entering) => {
      const { delivery, rules, registered, slot } = entering
      if (delivery.broken !== undefined) {
        slot.handled()
        const failure = broken(delivery.broken)
        return entering.conclude({ is: 'refused', reason: 'undecodable', failure })
      }
      const { event } = delivery.parcel
      const { pattern, schema } = registered
      runWithin(
        deadlines,
        rules.timeout,
        `the schema of ${pattern}`,
        abandon,
        () => {
          const value = decodeData(event)
          return schema ? validated(schema, value) : value
        },
        (data) => {
          const { trail } = delivery.parcel
          const idempotencyKey = idempotencyKeyOf(rules.idempotency.key, event)
          const shown = { ...event, data, attempt: trail.spent + 1, trail, idempotencyKey }
          const priority = event.extensions.priority ?? rules.priority
          gather({ ...entering, event: shown, priority })
          slot.handled()
        },
        (error) => {
          slot.handled()
          if (abandon.aborted) entering.handBack()
          else entering.conclude(failed(error, rules.overrides, now()))
        },
      )
    },
    close: () => gathering.close(({ slot }) => slot.ended()),
  }
}
