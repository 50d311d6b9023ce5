import type { Destination, Inlet, Subscription, Transport } from '../../contracts/transport.ts'
import { unknownSubscription } from '../../core/door.ts'
import { ReprieveError } from '../../core/error.ts'
import { checkEvent } from '../../core/event.ts'
import { countBehind, notInLine, releaseKeys } from './dead-keys.ts'
import type { Door } from './doors.ts'
import { inletOf, type Terms } from './inlet.ts'
import { inPieces, insertAlone, insertParcels, linesOf } from './inserting.ts'
import { wordOf } from './keys.ts'
import { lockLines } from './lines.ts'
import { addressed, type Written, writtenOf } from './parcels.ts'
import type { Room } from './room.ts'
import type { Known } from './subscriptions.ts'
import { again } from './trouble.ts'

/** The office takes letters in peace: it keeps them in one commit and then acknowledges. */
const COLLECTING: Terms = { lease: 30_000, window: 1000 }

/** So often doors may change under a publisher's hands. */
const TRIES = 20

export interface Life {
  /** Makes what is missing; before anything else. */
  readonly ready: () => Promise<void>
  readonly leave: () => Promise<void>
}

export const transportOf = (room: Room, { ready, leave }: Life): Transport => {
  const { pool, schema, bells, subscriptions, clock, poll } = room
  const inlets = new Set<Inlet>()
  let closing: Promise<void> | undefined

  const enter = async (): Promise<void> => {
    if (closing) throw new ReprieveError('closed', `the transport in PostgreSQL at ${pool.place} is closed`)
    await ready()
  }

  const openInlet = (door: Door, terms: Terms): Inlet => {
    const inlet = inletOf(room, door, terms, () => inlets.delete(inlet))
    inlets.add(inlet)
    return inlet
  }

  /** By the doors as they are remembered; where that does not do, by those that are there now. */
  const byDoors = async <T>(work: (known: Known) => Promise<T | undefined>): Promise<T> => {
    let known = await subscriptions.known()
    for (let tries = 1; ; tries++) {
      try {
        const answer = await work(known)
        if (answer !== undefined) return answer
      } catch (error) {
        if (tries > 1 || !isOfOldDoors(error)) throw error
      }
      if (tries === TRIES) throw changing(pool.place)
      known = await subscriptions.look()
    }
  }

  const publish: Transport['publish'] = async (topic, events) => {
    await enter()
    for (const event of events) checkEvent(event)
    const written = events.map((event) => writtenOf(event))
    // before anything is written: nobody may hear some of them and not the others
    if (written.length > 0)
      await byDoors(async (known) => written.map(({ type }) => known.hearing(topic, type)))
    for (const piece of inPieces(written, sizeOf)) await publishPiece(topic, piece)
  }

  const publishPiece = async (topic: string, written: readonly Written[]): Promise<void> => {
    const reached = await byDoors(async (known) => {
      const now = clock.now()
      const parcels = written.flatMap((each) =>
        known.hearing(topic, each.type).map((door) => addressed(door, each, now)),
      )
      const inserted = await again(() => insertAlone(pool, schema, parcels, known.version))
      return inserted ? new Set(parcels.map(({ door }) => door.id)) : undefined
    })
    bells.ring(reached)
  }

  const forward: Transport['forward'] = async (to, parcels) => {
    await enter()
    const written = parcels.map(({ event, trail, due }) => ({
      own: writtenOf(event, trail),
      due,
      letter: trail.replay && wordOf(trail.replay.letter),
    }))
    const door = await byDoors(async (known) => {
      const found = known.find(to)
      if (!found) throw unknownSubscription(to)
      const all = written.map(({ own, due, letter }) => ({ ...addressed(found, own, due), letter }))
      if (all.length === 0) return found.id
      const lines = linesOf(all)
      const inserted = await again(() =>
        lines.length === 0
          ? insertAlone(pool, schema, all, known.version)
          : pool.transaction(async (ask) => {
              await lockLines(ask, schema, lines)
              const fresh = await notInLine(ask, schema, all)
              return insertParcels(ask, schema, fresh, known.version)
            }),
      )
      return inserted ? found.id : undefined
    })
    bells.ring([door])
  }

  const release: Transport['release'] = async (to, keys) => {
    await enter()
    const door = (await subscriptions.look()).find(to)
    if (!door || keys.length === 0) return
    await again(() => releaseKeys(pool, schema, door.id, keys))
    bells.ring([door.id])
  }

  const behind: Transport['behind'] = async (to, keys) => {
    await enter()
    const door = (await subscriptions.look()).find(to)
    return door ? countBehind(pool.ask, schema, door.id, keys) : keys.map(() => 0)
  }

  const subscribe = async (to: Subscription): Promise<Inlet> => {
    await enter()
    for (const destination of to.destinations) await subscriptions.destination(destination)
    const door = await subscriptions.subscribe(to)
    bells.ring([door.id])
    return openInlet(door, to)
  }

  const collect = async (destination: Destination): Promise<Inlet> => {
    await enter()
    return openInlet(await subscriptions.destination(destination), COLLECTING)
  }

  const close = async (): Promise<void> => {
    await Promise.all([...inlets].map((inlet) => inlet.close()))
    await leave()
  }

  return {
    name: 'postgres',
    can: {
      later: Number.POSITIVE_INFINITY,
      late: () => poll,
      order: 'key',
      lease: true,
      except: true,
      claims: true,
      patterns: true,
      fresh: true,
      urgent: true,
      unheard: 'refused',
    },
    publish,
    subscribe,
    collect,
    forward,
    release,
    behind,
    close: () => {
      closing ??= Promise.resolve().then(close)
      return closing
    },
  }
}

const sizeOf = ({ event, data }: Written): number => event.length + (data?.length ?? 0)

/** Somebody may have subscribed since. */
const isOfOldDoors = (error: unknown): boolean =>
  error instanceof ReprieveError && (error.code === 'unheard' || error.code === 'unknown_subscription')

const changing = (place: string): ReprieveError =>
  new ReprieveError(
    'unavailable',
    `PostgreSQL at ${place}: subscriptions change faster than events are written`,
  )
