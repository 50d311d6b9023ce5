import type { Board } from '../contracts/board.ts'
import type { Tools } from '../contracts/tools.ts'
import type { Json } from '../core/json.ts'
import { GUARDS, type GuardReport, guardEntry, readGuard } from '../core/orders.ts'
import {
  freshShared,
  type Lease,
  leaseOf,
  quorumOf,
  type Shared,
  type SharedSignal,
  share,
} from '../core/shared-breaker.ts'
import { readShared, SHARED, sharedEntry } from '../core/shared-entries.ts'
import type { Guard } from './guard.ts'
import type { Heartbeat } from './heartbeats.ts'
import { createSeat, type Seat } from './shared-guard.ts'

/** The breakers of this process among those of all that share the board. */
export interface SharedBreakers {
  /** The guard as calls are to meet it from now on. */
  join(guard: Guard): Guard
  /** Tells and hears once, of all. Rejects where the board does. */
  sync(): Promise<void>
  /** Gives back what others may need. */
  leave(): Promise<void>
}

/** So often a compare-and-set that others forestalled is tried again, before it waits for the next second. */
const TRIES = 10
/** The state of the whole outlasts the outage, not the system. */
const KEPT = 10 * 60_000

/** `inTurn`: after all that was begun before. */
export const createSharedBreakers = (
  board: Board,
  process: string,
  { clock, dice }: Tools,
  heartbeat: Heartbeat,
  inTurn: (work: () => Promise<void>) => void,
): SharedBreakers => {
  const seats = new Map<string, Seat>()

  const current = async (name: string) => {
    const entry = sharedEntry(name)
    return (await board.read(entry)).find((each) => each.entry === entry)
  }

  /** Puts a signal down; answers with the state that followed, or nothing where others were always quicker. */
  const put = async (seat: Seat, signal: SharedSignal): Promise<Shared | undefined> => {
    const { name, rules } = seat.guard
    const ttl = Math.max(KEPT, 4 * (rules.open + leaseOf(rules)))
    for (let tries = 1; tries <= TRIES; tries++) {
      const entry = await current(name)
      const now = clock.now()
      const before = (entry && readShared(entry.value)) ?? freshShared(now)
      const next = share(rules, before, signal, now, seat.processes)
      if (next === before) return before
      if (await board.post(sharedEntry(name), { ...next } as unknown as Json, ttl, entry?.version ?? 0)) {
        return next
      }
      await clock.sleep(Math.ceil(dice.next() * 10 * tries))
    }
    return undefined
  }

  const tellAll = async (seat: Seat): Promise<void> => {
    for (let signal = seat.untold[0]; signal; signal = seat.untold[0]) {
      const heard = await put(seat, signal)
      if (!heard) return
      // a newer one may have taken its place meanwhile
      const at = seat.untold.indexOf(signal)
      if (at >= 0) seat.untold.splice(at, 1)
      if (signal.is === 'trip') seat.tripHeard(heard.round)
    }
  }

  const takeLease = async (seat: Seat): Promise<void> => {
    const id = dice.uuid()
    const heard = await put(seat, { is: 'take', lease: id })
    const lease: Lease | undefined =
      heard?.is === 'half-open' ? heard.leases.find((each) => each.id === id) : undefined
    seat.answer(lease)
  }

  const report = (seat: Seat): Promise<void> => {
    const { name, rules, state, since, counts } = seat.guard
    const quorum = quorumOf(rules, seat.processes)
    const told = (): GuardReport => ({ name, process, state: state.is, since, quorum, ...counts })
    return heartbeat(guardEntry(name, process), () => ({ ...told() }), `${state.is} ${quorum}`)
  }

  /** How many processes have such a breaker, by its name. */
  const countProcesses = async (): Promise<ReadonlyMap<string, number>> => {
    const counts = new Map<string, number>()
    for (const { value } of await board.read(GUARDS)) {
      const name = readGuard(value)?.name
      if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1)
    }
    return counts
  }

  const settle = async (seat: Seat): Promise<void> => {
    await tellAll(seat)
    if (seat.wants) await takeLease(seat)
  }

  const attend = async (seat: Seat): Promise<void> => {
    await settle(seat)
    await report(seat)
    const counts = await countProcesses()
    const { name } = seat.guard
    const entry = await current(name)
    seat.hear(entry && readShared(entry.value), counts.get(name) ?? 1)
  }

  return {
    join: (guard) => {
      let stirred = false
      const stir = (): void => {
        if (stirred) return
        stirred = true
        inTurn(() => {
          stirred = false
          return attend(seat)
        })
      }
      const seat = createSeat(guard, process, clock, stir)
      seats.set(guard.name, seat)
      stir()
      return seat.guard
    },
    sync: async () => {
      if (seats.size === 0) return
      for (const seat of seats.values()) await report(seat)
      const counts = await countProcesses()
      for (const seat of seats.values()) {
        seat.tidy()
        await settle(seat)
      }
      const wholes = new Map((await board.read(SHARED)).map(({ entry, value }) => [entry, readShared(value)]))
      for (const seat of seats.values()) {
        const { name } = seat.guard
        seat.hear(wholes.get(sharedEntry(name)), counts.get(name) ?? 1)
      }
    },
    leave: async () => {
      for (const seat of seats.values()) {
        seat.tidy(true)
        await tellAll(seat)
      }
    },
  }
}
