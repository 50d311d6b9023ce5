import type { Delivery, Inlet, Settled, Subscription } from '../../contracts/transport.ts'
import { heldHere } from '../../core/ledger.ts'
import type { Instant } from '../../core/time.ts'
import { holdingOf } from './holding.ts'
import { endClaim, renewClaim } from './ledger.ts'
import type { Room } from './room.ts'
import { extendLease, giveBack, makeReady, type Ready, settleOne } from './settling.ts'
import type { Door } from './subscriptions.ts'
import {
  anyReady,
  countReady,
  HANDLE,
  handleOf,
  nextReady,
  type Passing,
  passBy,
  type Taken,
  takeParcels,
} from './taking.ts'

export type Terms = Pick<Subscription, 'lease' | 'window' | 'poll' | 'ledgerKey'>

export const inletOf = (room: Room, door: Door, terms: Terms, ended: () => void): Inlet => {
  const { file, writer, bells, subscriptions, clock } = room
  const poll = terms.poll ?? room.poll
  const holding = holdingOf(terms.window)
  /** Fresh ones since the last retry. */
  let passed = 0
  let closing: Promise<void> | undefined

  const taking = async (max: number, signal: AbortSignal, passing: Passing): Promise<readonly Taken[]> => {
    const slots = () => (closing || signal.aborted ? 0 : Math.min(max, holding.slots(clock.now())))
    const wanted = () => slots() > 0 && anyReady(file, door, clock.now(), passing)
    let taken: readonly Taken[] = []
    let after = passed
    const take = (): void => {
      holding.remove(taken) // an earlier run of this job was undone
      const most = slots()
      const turns = { window: terms.window, retrying: holding.retrying(), passed }
      const gulp = { max: most, turns, now: clock.now(), passing }
      ;({ taken, passed: after } = most > 0 ? takeParcels(file, door, terms, gulp) : { taken: [], passed })
      holding.add(taken)
    }
    try {
      await writer.writeIf(wanted, take)
      passed = after
      return taken
    } catch (error) {
      holding.remove(taken)
      throw error
    }
  }

  const receive: Inlet['receive'] = async (max, signal, except) => {
    const passing = passBy(except)
    while (!closing && !signal.aborted && max > 0) {
      const rung = bells.rung(door.id)
      const taken = await taking(max, signal, passing)
      if (taken.length > 0) return taken
      if (closing) break
      const now = clock.now()
      const next = await writer.read(() => nextReady(file, door, now))
      if (bells.rung(door.id) !== rung) continue
      await bells.wait(door.id, Math.min(poll, (next ?? Number.POSITIVE_INFINITY) - now), signal)
    }
    return []
  }

  const settle: Inlet['settle'] = async (batch) => {
    if (closing) {
      await closing // which gives everything back
      return batch.map(() => 'lost')
    }
    const ready = batch.map(makeReady)
    if (!ready.some(isReady)) return ready as Settled[]
    const stirred = new Set<number>()
    let released: readonly Taken[] = []
    const run = (): readonly Settled[] => {
      holding.add(released) // an earlier run of this job was undone
      const now = clock.now()
      if (holding.slots(now) <= 0) stirred.add(door.id)
      const around = { file, subscriptions, door, now, stirred }
      const answers = ready.map((each) => (isReady(each) ? settleOne(around, each) : each))
      const over = batch.filter((_, index) => !(answers[index] instanceof Error))
      released = holding.remove(over.map(({ delivery }) => delivery))
      return answers
    }
    try {
      const answers = await writer.write(run, batch.length)
      bells.ring(stirred)
      return answers
    } catch (error) {
      holding.add(released)
      return batch.map(() => error as Error)
    }
  }

  const extend: Inlet['extend'] = async (deliveries, until) => {
    if (closing || deliveries.length === 0) return
    const extended = await writer.write(
      () => deliveries.filter((delivery) => extendOne(room, delivery, until)),
      deliveries.length,
    )
    for (const delivery of extended) handleOf(delivery)!.until = until
  }

  /** What can't be given back now comes back when its lease runs out; the writer has told the journal why. */
  const close = async (): Promise<void> => {
    bells.ring([door.id]) // whoever waits here looks up and sees that it is closed
    const giveAllBack = () => {
      for (const taken of holding.all()) giveBackOne(room, taken)
    }
    // what can't be given back now goes to others when its lease is over
    await writer.write(giveAllBack).catch(() => {})
    bells.ring([door.id])
    ended()
  }

  return {
    receive,
    settle,
    extend,
    lag: () => writer.read(() => countReady(file, door, clock.now())),
    close: () => {
      closing ??= Promise.resolve().then(close)
      return closing
    },
  }
}

const extendOne = ({ file }: Room, delivery: Delivery, until: Instant): boolean => {
  const handle = handleOf(delivery)
  if (!handle || !extendLease(file, handle, until)) return false
  const held = heldHere(delivery.claim)
  if (held) renewClaim(file, held, until)
  return true
}

const giveBackOne = ({ file, clock }: Room, { claim, [HANDLE]: handle }: Taken): void => {
  const held = heldHere(claim)
  if (giveBack(file, handle) && held) endClaim(file, held, 'free', clock.now())
}

const isReady = (each: Ready | 'lost' | Error): each is Ready => each !== 'lost' && !(each instanceof Error)
