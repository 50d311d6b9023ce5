import type { Letters } from '../contracts/letters.ts'
import type { Tools } from '../contracts/tools.ts'
import type { Delivery, Destination, Inlet, Transport } from '../contracts/transport.ts'
import type { Keeping } from '../core/found.ts'
import type { Millis } from '../core/time.ts'
import { createApart } from './apart.ts'
import { keepArrivals } from './arrivals.ts'

/** Takes over what arrives at a destination. Kept and committed first, acknowledged after. */
export interface Intake {
  /** Until the signal aborts. */
  run(stop: AbortSignal): Promise<void>
  /** Only what lies there now. Answers how many were taken over. */
  catchUp(stop: AbortSignal): Promise<number>
  close(): Promise<void>
}

const BATCH = 100
/** So many that can't be kept, one by one and in a row, and it is the store's fault rather than theirs. */
const ENOUGH = 3
/** How long to wait for what the lag promised: joining a consumer group takes its time. */
const PATIENCE = 5000

export const openIntake = async (
  transport: Transport,
  destination: Destination,
  letters: Letters,
  tools: Tools,
  keeping: Keeping,
): Promise<Intake> => {
  const { clock, journal } = tools
  let opened = destination.foreign ? undefined : await transport.collect(destination)
  let closed = false
  /** Someone else's need not be there when we begin: it is asked for until it is. */
  const openInlet = async (): Promise<Inlet> => {
    opened ??= await transport.collect(destination)
    if (closed) await opened.close()
    return opened
  }

  const arriving = { destination: destination.name, transport: transport.name, keeping, letters }
  const keep = (batch: readonly Delivery[]) => keepArrivals(batch, arriving, tools)
  const apart = createApart()

  const tell = (delivery: Delivery, error: Error, retryIn: number): void => {
    const { id, type } = delivery.parcel.event
    const about = { service: destination.name, topic: destination.name, type, event: id }
    const where = `keeping a letter from ${destination.name}, which stays apart`
    journal({ at: clock.now(), is: 'trouble', where, error, retryIn, about })
  }

  /** Together; where that fails one by one, so that one that can't be kept keeps nobody else from being kept. */
  const keepAll = async (batch: readonly Delivery[]): Promise<readonly Delivery[]> => {
    const whole = await keep(batch).catch((error: unknown) => error as Error)
    if (!whole) return batch
    const kept: Delivery[] = []
    const refused: { readonly delivery: Delivery; readonly error: Error }[] = []
    for (const delivery of batch) {
      const untried = kept.length === 0 && refused.length === ENOUGH
      const error =
        untried || batch.length === 1 ? whole : await keep([delivery]).catch((e: unknown) => e as Error)
      if (!error) kept.push(delivery)
      else if (untried) apart.add(delivery, clock.now(), false)
      else refused.push({ delivery, error })
    }
    for (const { delivery, error } of refused) {
      const retryIn = apart.add(delivery, clock.now(), true)
      if (kept.length > 0 || batch.length === 1) tell(delivery, error, retryIn)
    }
    if (kept.length === 0 && batch.length > 1) throw whole
    return kept
  }

  const take = async (max: number, stop: AbortSignal): Promise<number> => {
    const inlet = await openInlet()
    const again = apart.due(clock.now(), BATCH)
    const batch = again.length > 0 ? again : await receive(inlet, max, stop)
    if (batch.length === 0) return 0
    const kept = await keepAll(batch)
    await inlet.settle(kept.map((delivery) => ({ do: 'ack', delivery })))
    return kept.length
  }

  /** No longer than until one that stays apart is to be tried again. */
  const receive = async (inlet: Inlet, max: number, stop: AbortSignal): Promise<readonly Delivery[]> => {
    const next = apart.next()
    if (next === undefined) return inlet.receive(max, stop)
    return during(Math.max(0, next - clock.now()), stop, (signal) => inlet.receive(max, signal))
  }

  const during = async <T>(
    most: Millis,
    stop: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> => {
    const enough = new AbortController()
    const done = new AbortController()
    void clock.sleep(most, AbortSignal.any([stop, done.signal])).then(() => enough.abort())
    try {
      return await work(enough.signal)
    } finally {
      done.abort()
    }
  }

  return {
    run: async (stop) => {
      for (let pause = 100; !stop.aborted; ) {
        try {
          await take(BATCH, stop)
          pause = 100
        } catch (error) {
          if (stop.aborted) return
          journal({
            at: clock.now(),
            is: 'trouble',
            where: `ingesting ${destination.name}`,
            error: error as Error,
            retryIn: pause,
          })
          await clock.sleep(pause, stop)
          pause = Math.min(pause * 2, 5000)
        }
      }
    },
    catchUp: async (stop) => {
      let taken = 0
      const inlet = await openInlet().catch((error: Error & { code?: string }) => {
        // what somebody else has not made yet holds nothing
        if (error.code !== 'unknown_destination') throw error
        journal({ at: clock.now(), is: 'trouble', where: `ingesting ${destination.name}`, error })
      })
      if (!inlet) return 0
      for (let { waiting } = await inlet.lag(); waiting > 0 && !stop.aborted; ) {
        const some = await during(PATIENCE, stop, (signal) => take(Math.min(waiting, BATCH), signal))
        taken += some
        const before = waiting
        waiting = (await inlet.lag()).waiting
        // another office is at it: what it takes is taken care of
        if (some === 0 && waiting >= before) break
      }
      return taken
    },
    close: async () => {
      closed = true
      await opened?.close()
    },
  }
}
