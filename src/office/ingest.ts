import type { Letters } from '../contracts/letters.ts'
import type { Tools } from '../contracts/tools.ts'
import type { Delivery, Destination, Inlet, Transport } from '../contracts/transport.ts'
import type { Keeping } from '../core/found.ts'
import { readLetter, readReceipt } from '../core/letter.ts'
import { foundLetters } from './found.ts'

/** Takes over what arrives at a destination. Kept and committed first, acknowledged after. */
export interface Intake {
  /** Until the signal aborts. */
  run(stop: AbortSignal): Promise<void>
  /** Only what lies there now. Answers how many were taken over. */
  catchUp(stop: AbortSignal): Promise<number>
  close(): Promise<void>
}

const BATCH = 100
const NOT_ENDED = ['open', 'replaying'] as const
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

  const take = async (max: number, stop: AbortSignal): Promise<number> => {
    const inlet = await openInlet()
    const batch = await inlet.receive(max, stop)
    if (batch.length > 0)
      await takeOver(
        inlet,
        batch,
        { destination: destination.name, transport: transport.name },
        letters,
        tools,
        keeping,
      )
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
      const inlet = await openInlet().catch((error: Error & { code?: string }) => {
        // what somebody else has not made yet holds nothing
        if (error.code !== 'unknown_destination') throw error
        journal({ at: clock.now(), is: 'trouble', where: `ingesting ${destination.name}`, error })
      })
      if (!inlet) return 0
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
    close: async () => {
      closed = true
      await opened?.close()
    },
  }
}

const takeOver = async (
  inlet: Inlet,
  batch: readonly Delivery[],
  where: { readonly destination: string; readonly transport: string },
  letters: Letters,
  { clock, journal, dice }: Tools,
  keeping: Keeping,
): Promise<void> => {
  const now = clock.now()
  const receipts = batch.flatMap(({ parcel }) => readReceipt(parcel.event) ?? [])
  const others = batch.filter(({ parcel }) => !readReceipt(parcel.event))
  const ours = others.flatMap(({ parcel }) => readLetter(parcel.event) ?? [])
  const theirs = ours.length === others.length ? [] : others.filter(({ parcel }) => !readLetter(parcel.event))
  const found = await foundLetters(theirs, where, keeping, letters, dice, now)
  const arrived = [...ours, ...found]
  await letters.keep(arrived)
  await letters.mark([
    ...receipts.map(({ letter, at }) => ({
      id: letter,
      from: NOT_ENDED,
      to: 'resolved' as const,
      at,
    })),
    ...arrived.flatMap(({ trail, buriedAt, reason }) =>
      trail.replay
        ? [
            {
              id: trail.replay.letter,
              // of foreign ones nobody tells the end: they count as resolved until they come back
              from: [...NOT_ENDED, ...(reason === 'found' ? (['resolved'] as const) : [])],
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
