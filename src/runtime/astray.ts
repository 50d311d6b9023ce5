import type { Tools } from '../contracts/tools.ts'
import type { Delivery, Subscription } from '../contracts/transport.ts'
import type { Millis } from '../core/time.ts'
import { about } from './about.ts'
import { heldBy } from './claims.ts'
import type { Settler } from './settle.ts'

/** So long it waits in hand before it goes back: what goes wrong each time must not go round as fast as it can. */
const PAUSE: Millis = 1000

/** A delivery on whose way something was thrown that nobody foresaw. `over` is called when it is no longer ours. */
export type Astray = (
  thrown: unknown,
  delivery: Delivery,
  door: { readonly subscription: Subscription; readonly settler: Settler },
  over: () => void,
) => void

/**
 * Left in hand nobody would ever settle it, and many brokers have no lease that would end. So it is told, and goes back
 * with nothing spent; those that came with it go on.
 */
export const createAstray =
  ({ clock, journal }: Tools, hurry: AbortSignal): Astray =>
  (thrown, delivery, { subscription, settler }, over) => {
    const { service, topic } = subscription
    const [held] = heldBy(delivery)
    void clock
      .sleep(PAUSE, hurry)
      .then(() => settler.settle({ do: 'give back', delivery, ...(held && { held }) }, over))
    journal({
      at: clock.now(),
      is: 'trouble',
      where: `the walk of an event of ${service}`,
      error: thrown instanceof Error ? thrown : new Error(String(thrown)),
      retryIn: PAUSE,
      about: about(service, topic, delivery.parcel.event),
    })
  }
