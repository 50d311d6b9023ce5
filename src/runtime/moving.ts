import type { Tools } from '../contracts/tools.ts'
import type { Delivery, Subscription, Transport } from '../contracts/transport.ts'
import type { Millis } from '../core/time.ts'
import type { Plan } from './plan.ts'
import type { Settler } from './settle.ts'

/**
 * Order by key beside a broker. A broker keeps the order of arrival only, and a retry leaves it: so ordered events are
 * moved to the companion as they arrive, forwarded first and then acknowledged, and are handled from there, where
 * a key in retry holds up its followers however many workers there are.
 */
export interface Mover {
  /** Answers with those that are handled where they came; the others are on their way. */
  takeOut(coming: readonly Coming[]): readonly Coming[]
  /** Resolves when nothing is being forwarded. After the stop what was not forwarded stays with its broker. */
  idle(): Promise<void>
}

/** A delivery on its way to the lanes, and what to call when it is no longer out. */
export interface Coming {
  readonly delivery: Delivery
  readonly goOut: () => void
}

export interface MoverOptions {
  readonly subscription: Subscription
  readonly plan: Plan
  readonly companion: Transport
  readonly settler: Settler
  readonly tools: Tools
  readonly stop: AbortSignal
  readonly leave: (coming: Coming) => void
}

const PAUSE: Millis = 200
const LONGEST_PAUSE: Millis = 5000

export const createMover = (options: MoverOptions): Mover => {
  const { subscription, plan, companion, settler, stop, leave } = options
  const { clock, journal } = options.tools
  let waiting: Coming[] = []
  /** What would not go, by order key, in the order of arrival: later ones of such a key wait behind it. */
  const stuck = new Map<string, Coming[]>()
  let moving: Promise<void> | undefined
  let trying: Promise<void> | undefined

  const isOrdered = ({ delivery: { broken, parcel } }: Coming): boolean => {
    const { type, extensions } = parcel.event
    return (
      extensions.orderkey !== undefined &&
      broken === undefined &&
      plan.rulesOf(subscription.topic, type).order === 'key' &&
      plan.handlerOf(subscription, type) !== undefined
    )
  }

  const queue = (each: Coming): void => {
    const line = stuck.get(keyOf(each))
    if (line) line.push(each)
    else waiting.push(each)
  }

  /** One gulp after another, so that they arrive in their order; what comes meanwhile is the next. */
  const moveAll = async (): Promise<void> => {
    while (waiting.length > 0 && !stop.aborted) {
      const gulp = waiting
      waiting = []
      const error = await move(gulp)
      if (error) putAside(gulp, error)
    }
    moving = undefined
  }

  /** Undefined when it is done: durable at the companion, and handed to the settler to be acknowledged. */
  const move = async (some: readonly Coming[]): Promise<Error | undefined> => {
    try {
      await companion.forward(
        subscription,
        some.map(({ delivery }) => delivery.parcel),
      )
    } catch (error) {
      return error as Error
    }
    // an ack that is lost brings it again: then the companion or the ledger knows it
    for (const each of some) settler.settle({ do: 'ack', delivery: each.delivery }, () => leave(each))
    return undefined
  }

  /** Whatever is wrong with one of them must hold up its own key only: from here on each key goes by itself. */
  const putAside = (gulp: readonly Coming[], error: Error): void => {
    const came = waiting
    waiting = []
    for (const each of gulp) if (!stuck.has(keyOf(each))) stuck.set(keyOf(each), [])
    for (const each of [...gulp, ...came]) queue(each)
    trying ??= tryAgain(error)
  }

  const tryAgain = async (first: Error): Promise<void> => {
    let error = first
    for (let retryIn = PAUSE; stuck.size > 0; retryIn = Math.min(retryIn * 2, LONGEST_PAUSE)) {
      const where = `moving ordered events of ${subscription.service} to ${companion.name}`
      journal({ at: clock.now(), is: 'trouble', where, error, retryIn })
      await clock.sleep(retryIn, stop)
      for (const [orderKey, line] of stuck) {
        if (stop.aborted) break
        const some = [...line]
        const failed = await move(some)
        if (failed) error = failed
        else line.splice(0, some.length)
        if (line.length === 0) stuck.delete(orderKey)
      }
      if (stop.aborted) break
    }
    trying = undefined
  }

  return {
    takeOut: (coming) => {
      const staying: Coming[] = []
      for (const each of coming) {
        try {
          if (isOrdered(each)) queue(each)
          else staying.push(each)
        } catch {
          staying.push(each) // whoever looks at it next tells what is wrong with it
        }
      }
      if (waiting.length > 0) moving ??= moveAll()
      return staying
    },
    idle: async () => {
      await moving
      await trying
    },
  }
}

const keyOf = ({ delivery }: Coming): string => String(delivery.parcel.event.extensions.orderkey)
