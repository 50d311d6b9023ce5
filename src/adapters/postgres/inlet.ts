import type { Delivery, Inlet, Subscription } from '../../contracts/transport.ts'
import { heldHere } from '../../core/ledger.ts'
import type { Instant } from '../../core/time.ts'
import { countReady } from './counting.ts'
import type { Door } from './doors.ts'
import { endWithin, heldName } from './ending.ts'
import { HANDLE, handleOf, holdingOf, type Taken } from './holding.ts'
import { inOrder, wordOf } from './keys.ts'
import { parcelChanges } from './parcel-changes.ts'
import { moment } from './parcels.ts'
import type { Ask } from './pool.ts'
import { makeReady, type Ready } from './ready.ts'
import type { Room } from './room.ts'
import { settleAt } from './settling.ts'
import { deliveryOf, droppingExpired, inTurn, looking, takingSome, type Wish, withClaims } from './taking.ts'
import { again } from './trouble.ts'

export type Terms = Pick<Subscription, 'lease' | 'window' | 'poll' | 'ledgerKey'>

export const inletOf = (room: Room, door: Door, terms: Terms, ended: () => void): Inlet => {
  const { pool, schema, bells, clock, ledger } = room
  const { lease, window, ledgerKey } = terms
  const poll = terms.poll ?? room.poll
  const holding = holdingOf(window)
  /** Fresh ones since the last retry. */
  let passed = 0
  /** One at a time, so that never more than the window is out. */
  let taking: Promise<unknown> = Promise.resolve()
  let closing: Promise<void> | undefined

  const takeWith = async (ask: Ask, wish: Wish, holder: string) => {
    const turned = inTurn((await ask(takingSome(schema, door, wish))).rows, wish)
    const taken = turned.rows.map((row) => deliveryOf(row, wish.until))
    const keyOf = ({ parcel, redelivered }: Taken) => ledgerKey?.(parcel, redelivered)
    const claimed = await withClaims(taken, keyOf, (keys) =>
      room.claim(ask, keys, { now: wish.now, until: wish.until, holder }),
    )
    return { taken: claimed, passed: turned.passed }
  }

  /** With when something else will be ready, where nothing is. */
  const takeSome = async (
    max: number,
    signal: AbortSignal,
    passing: readonly string[],
  ): Promise<readonly Taken[] | Instant> => {
    const now = clock.now()
    const most = closing || signal.aborted ? 0 : Math.min(max, holding.slots(now))
    if (most <= 0) return Number.POSITIVE_INFINITY
    if (door.expire !== undefined) await pool.ask(droppingExpired(schema, door, now))
    const { ready, next } = (await pool.ask(looking(schema, door, { now, passing }))).rows[0]!
    if (!ready) return next === null ? Number.POSITIVE_INFINITY : Number(next)
    const turns = { window, retrying: holding.retrying(), passed }
    const wish = { max: most, turns, now, until: moment(now + lease), passing }
    const got = await room.unanswered.claim((holder) =>
      again(() =>
        ledgerKey ? pool.transaction((ask) => takeWith(ask, wish, holder)) : takeWith(pool.ask, wish, holder),
      ),
    )
    passed = got.passed
    holding.add(got.taken)
    return got.taken
  }

  const inTurnTaken = (...how: Parameters<typeof takeSome>): ReturnType<typeof takeSome> => {
    const next = taking.then(() => takeSome(...how))
    taking = next.catch(() => {}) // told to who asked
    return next
  }

  const receive: Inlet['receive'] = async (max, signal, except) => {
    const passing = [...(except ?? [])].map(wordOf)
    while (!closing && !signal.aborted && max > 0) {
      const rung = bells.rung(door.id)
      const taken = await inTurnTaken(max, signal, passing)
      if (closing) break // which gives it back
      if (typeof taken !== 'number' && taken.length > 0) return taken
      if (bells.rung(door.id) !== rung) continue
      const next = typeof taken === 'number' ? taken - clock.now() : poll
      await bells.wait(door.id, Math.min(poll, Math.max(next, 1)), signal)
    }
    return []
  }

  const settle: Inlet['settle'] = async (batch) => {
    if (closing) {
      await closing // which gives everything back
      return batch.map(() => 'lost')
    }
    const full = holding.slots(clock.now()) <= 0
    const made = batch.map(makeReady)
    const { settled, stirs } = await settleAt(room, door, made.filter(isReady))
    const answers = made.map((each) => (isReady(each) ? settled.get(each)! : each))
    holding.remove(batch.filter((_, at) => !(answers[at] instanceof Error)).map(({ delivery }) => delivery))
    // what goes on behind these, or sooner than was known, or fits in now
    if (full || stirs) bells.ring([door.id])
    return answers
  }

  const extend: Inlet['extend'] = async (deliveries, until) => {
    const ours = deliveries.filter(isTaken)
    if (closing || ours.length === 0) return
    const end = moment(until)
    const extended = await again(() =>
      pool.transaction(async (ask) => {
        const handles = ours.map(({ [HANDLE]: handle }) => handle)
        const ids = await parcelChanges(ask, schema).extend(handles, end)
        const still = ours.filter(({ [HANDLE]: { id } }) => ids.has(id))
        const held = heldOf(still)
        if (held.length > 0) await ask(ledger.renew(inOrder(held, heldName), end))
        return still
      }),
    )
    for (const { [HANDLE]: handle } of extended) handle.until = until
  }

  const close = async (): Promise<void> => {
    bells.ring([door.id]) // whoever waits here looks up and sees that it is closed
    await taking
    const all = holding.all()
    const giveAllBack = async (ask: Ask): Promise<void> => {
      const ids = await parcelChanges(ask, schema).giveBack(all.map(({ [HANDLE]: handle }) => handle))
      const ends = heldOf(all.filter(({ [HANDLE]: { id } }) => ids.has(id))).map((held) => ({
        held,
        as: 'free' as const,
      }))
      if (ends.length > 0) await endWithin(ask, ledger, ends, clock.now())
    }
    // what can't be given back now goes to others when its lease is over
    if (all.length > 0) await again(() => pool.transaction(giveAllBack)).catch(() => {})
    bells.ring([door.id])
    ended()
  }

  return {
    receive,
    settle,
    extend,
    lag: () => countReady(pool.ask, schema, door, clock.now()),
    close: () => {
      closing ??= Promise.resolve().then(close)
      return closing
    },
  }
}

const isReady = (each: Ready | 'lost' | Error): each is Ready => each !== 'lost' && !(each instanceof Error)

const isTaken = (delivery: Delivery): delivery is Taken => handleOf(delivery) !== undefined

const heldOf = (deliveries: readonly Delivery[]) => deliveries.flatMap(({ claim }) => heldHere(claim) ?? [])
