import type { Tools } from '../../contracts/tools.ts'
import type { Can, Inlet, Transport } from '../../contracts/transport.ts'
import { unheard } from '../../core/door.ts'
import { ReprieveError } from '../../core/error.ts'
import { checkEvent } from '../../core/event.ts'
import { freshParcel } from '../../core/parcel.ts'
import type { Box } from './box.ts'
import { copyOf } from './copy.ts'
import { openInlet, type Terms } from './inlet.ts'
import { destinationAt, doorAt, hearing, openDoor, type World } from './world.ts'

const can: Can = {
  later: Number.POSITIVE_INFINITY,
  late: () => 0,
  order: 'key',
  lease: true,
  except: true,
  claims: true,
  patterns: true,
  fresh: true,
  urgent: true,
  unheard: 'refused',
}

/** Who collects letters takes them in bulk and keeps them in one step. */
const COLLECTING: Terms = { lease: 60_000, window: 1000 }

export const openTransport = (world: World, tools: Tools): Transport => {
  const inlets = new Set<Inlet>()
  let closed = false

  const mustBeOpen = () => {
    if (closed) throw new ReprieveError('closed', 'memory: this transport was closed')
  }

  const openTracked = (box: Box, terms: Terms): Inlet => {
    const inlet = openInlet(world, box, terms, tools)
    const tracked: Inlet = {
      ...inlet,
      close: () => {
        inlets.delete(tracked)
        return inlet.close()
      },
    }
    inlets.add(tracked)
    return tracked
  }

  return {
    name: 'memory',
    can,
    publish: async (topic, events) => {
      mustBeOpen()
      for (const event of events) checkEvent(event)
      const homes = events.map((event) => ({ event, doors: hearing(world, topic, event) }))
      const empty = homes.find(({ doors }) => doors.length === 0)
      if (empty) throw unheard(topic, empty.event.type)
      const now = tools.clock.now()
      for (const { event, doors } of homes) {
        for (const { box } of doors) box.put(copyOf(freshParcel(event, now)), now)
      }
    },
    subscribe: async (to) => {
      mustBeOpen()
      return openTracked(openDoor(world, to).box, to)
    },
    collect: async (destination) => {
      mustBeOpen()
      return openTracked(destinationAt(world, destination), COLLECTING)
    },
    forward: async (to, parcels) => {
      mustBeOpen()
      const door = doorAt(world, to)
      if (!door) {
        throw new ReprieveError(
          'unknown_subscription',
          `service ${to.service} has no subscription to topic ${to.topic}`,
          { fix: 'start that service once, or mend the name' },
        )
      }
      const now = tools.clock.now()
      for (const parcel of parcels.map(copyOf)) {
        if (!door.box.isInLine(parcel, now)) door.box.put(parcel, now)
      }
    },
    release: async (to, keys) => {
      mustBeOpen()
      const now = tools.clock.now()
      for (const { orderKey, letter } of keys) doorAt(world, to)?.box.release(orderKey, letter, now)
    },
    behind: async (to, keys) => {
      mustBeOpen()
      return keys.map(({ orderKey, letter }) => doorAt(world, to)?.box.behind(orderKey, letter) ?? 0)
    },
    close: async () => {
      closed = true
      await Promise.all([...inlets].map((inlet) => inlet.close()))
    },
  }
}
