import type { Letters } from '../contracts/letters.ts'
import type { Tools } from '../contracts/tools.ts'
import type { Delivery, Destination, Inlet, Transport } from '../contracts/transport.ts'
import { fingerprint } from '../core/fingerprint.ts'
import { FOUND } from '../core/group.ts'
import { type Letter, letterId, readLetter, readReceipt } from '../core/letter.ts'

/** Takes over what arrives at a destination. Kept and committed first, acknowledged after. */
export interface Intake {
  /** Until the signal aborts. */
  run(stop: AbortSignal): Promise<void>
  /** Only what lies there now. Answers how many were taken over. */
  catchUp(stop: AbortSignal): Promise<number>
  close(): Promise<void>
}

const BATCH = 100
/** How long to wait for what the lag promised: joining a consumer group takes its time. */
const PATIENCE = 5000

export const openIntake = async (
  transport: Transport,
  destination: Destination,
  letters: Letters,
  tools: Tools,
): Promise<Intake> => {
  const { clock, journal } = tools
  const inlet = await transport.collect(destination)

  const take = async (max: number, stop: AbortSignal): Promise<number> => {
    const batch = await inlet.receive(max, stop)
    if (batch.length > 0) await takeOver(inlet, batch, destination.name, transport.name, letters, tools)
    return batch.length
  }

  const patiently = async (
    work: (signal: AbortSignal) => Promise<number>,
    stop: AbortSignal,
  ): Promise<number> => {
    const enough = new AbortController()
    const done = new AbortController()
    void clock.sleep(PATIENCE, AbortSignal.any([stop, done.signal])).then(() => enough.abort())
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
      for (let { waiting } = await inlet.lag(); waiting > 0 && !stop.aborted; ) {
        const some = await patiently((signal) => take(Math.min(waiting, BATCH), signal), stop)
        taken += some
        const before = waiting
        waiting = (await inlet.lag()).waiting
        // another office is at it: what it takes is taken care of
        if (some === 0 && waiting >= before) break
      }
      return taken
    },
    close: () => inlet.close(),
  }
}

const takeOver = async (
  inlet: Inlet,
  batch: readonly Delivery[],
  destination: string,
  transport: string,
  letters: Letters,
  { clock, journal }: Tools,
): Promise<void> => {
  const now = clock.now()
  const receipts = batch.flatMap(({ parcel }) => readReceipt(parcel.event) ?? [])
  const arrived = batch
    .filter(({ parcel }) => !readReceipt(parcel.event))
    .map(
      (delivery) => readLetter(delivery.parcel.event) ?? foundLetter(delivery, destination, transport, now),
    )
  await letters.keep(arrived)
  await letters.mark([
    ...receipts.map(({ letter, at }) => ({
      id: letter,
      from: ['open', 'replaying'] as const,
      to: 'resolved' as const,
      at,
    })),
    ...arrived.flatMap(({ trail, buriedAt }) =>
      trail.replay
        ? [
            {
              id: trail.replay.letter,
              from: ['open', 'replaying'] as const,
              to: 'dead again' as const,
              at: buriedAt,
            },
          ]
        : [],
    ),
  ])
  await inlet.settle(batch.map((delivery) => ({ do: 'ack', delivery })))
  for (const { id, service } of arrived) journal({ at: now, is: 'letter kept', letter: id, service })
  for (const { letter, outcome } of receipts) journal({ at: now, is: 'receipt', letter, outcome })
}

/** Something lies at the destination that we did not write: it is kept with what can be known of it. */
const foundLetter = (
  { parcel, broken }: Delivery,
  destination: string,
  transport: string,
  now: number,
): Letter => {
  const { event } = parcel
  const service = 'unknown'
  const failure = {
    category: 'unknown',
    kind: 'handler',
    name: FOUND,
    message: broken ?? 'found at the dead-letter destination, written by someone else',
    because: 'nothing tells why it is here',
  } as const
  return {
    id: letterId(destination, event.type, event.id, 0),
    destination,
    service,
    topic: event.type,
    consumerGroup: service,
    transport,
    event,
    trail: parcel.trail,
    category: failure.category,
    kind: failure.kind,
    reason: 'found',
    error: failure.message,
    fingerprint: fingerprint(failure, { service, topic: destination, type: event.type }),
    limit: 0,
    firstFailureAt: now,
    buriedAt: now,
  }
}
