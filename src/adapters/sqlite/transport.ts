import type { Destination, Inlet, Subscription, Transport } from '../../contracts/transport.ts'
import { unknownSubscription } from '../../core/door.ts'
import { ReprieveError } from '../../core/error.ts'
import { checkEvent } from '../../core/event.ts'
import { countBehind, isInLine, releaseKey } from './dead-keys.ts'
import { inletOf, type Terms } from './inlet.ts'
import { insertParcel, type Written, writtenOf } from './parcels.ts'
import type { Room } from './room.ts'
import { type Door, hearing } from './subscriptions.ts'

/** The office takes letters in peace: it keeps them in one commit and then acknowledges. */
const COLLECTING: Terms = { lease: 30_000, window: 1000 }

/** A long list is written in pieces, so that the event loop can breathe between them. */
const PIECE = 1000

export const transportOf = (room: Room, leave: () => Promise<void>): Transport => {
  const { file, writer, bells, subscriptions, clock, poll } = room
  const inlets = new Set<Inlet>()
  let closing: Promise<void> | undefined

  const checkOpen = (): void => {
    if (closing) throw new ReprieveError('closed', `the transport on sqlite file '${file.path}' is closed`)
  }

  const openInlet = (door: Door, terms: Terms): Inlet => {
    const inlet = inletOf(room, door, terms, () => inlets.delete(inlet))
    inlets.add(inlet)
    return inlet
  }

  const publish: Transport['publish'] = async (topic, events) => {
    checkOpen()
    for (const event of events) checkEvent(event)
    if (events.length === 0) return
    const written = events.map((event) => writtenOf(event))
    const pieces: Promise<void>[] = []
    for (let at = 0; at < written.length; at += PIECE) {
      pieces.push(publishPiece(topic, written.slice(at, at + PIECE)))
    }
    await Promise.all(pieces)
  }

  const publishPiece = async (topic: string, written: readonly Written[]): Promise<void> => {
    const reached = await writer.write(() => {
      const doors = subscriptions.to(topic)
      for (const { type } of written) {
        hearing(subscriptions, topic, type)
      }
      const now = clock.now()
      for (const each of written) {
        for (const door of doors) if (door.wants(each.type)) insertParcel(file, door, each, now)
      }
      return doors.map(({ id }) => id)
    }, written.length)
    bells.ring(reached)
  }

  const forward: Transport['forward'] = async (to, parcels) => {
    checkOpen()
    const written = parcels.map((parcel) => ({ parcel, ...writtenOf(parcel.event, parcel.trail) }))
    const door = await writer.write(() => {
      const found = subscriptions.find(to)
      if (!found) throw unknownSubscription(to)
      for (const each of written) {
        if (!isInLine(file, found, each.parcel, each)) insertParcel(file, found, each, each.parcel.due)
      }
      return found.id
    }, parcels.length)
    bells.ring([door])
  }

  const release: Transport['release'] = async (to, keys) => {
    checkOpen()
    const door = await writer.write(() => {
      const found = subscriptions.find(to)
      if (!found) return undefined
      for (const each of keys) releaseKey(file, found, each)
      return found.id
    }, keys.length)
    if (door !== undefined) bells.ring([door])
  }

  const behind: Transport['behind'] = async (to, keys) => {
    checkOpen()
    return writer.read(() => {
      const door = subscriptions.find(to)
      return keys.map((each) => (door ? countBehind(file, door, each) : 0))
    })
  }

  const subscribe = async (to: Subscription): Promise<Inlet> => {
    checkOpen()
    const door = await writer.write(() => {
      for (const destination of to.destinations) subscriptions.destination(destination)
      return subscriptions.subscribe(to)
    })
    bells.ring([door.id])
    return openInlet(door, to)
  }

  const collect = async (destination: Destination): Promise<Inlet> => {
    checkOpen()
    const door = await writer.write(() => subscriptions.destination(destination))
    return openInlet(door, COLLECTING)
  }

  const close = async (): Promise<void> => {
    await Promise.all([...inlets].map((inlet) => inlet.close()))
    await leave()
  }

  return {
    name: 'sqlite',
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
