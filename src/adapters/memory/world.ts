import type { Entry } from '../../contracts/board.ts'
import type { KeptLetter } from '../../contracts/letters.ts'
import type { Address, Destination, Subscription } from '../../contracts/transport.ts'
import type { AuditEntry } from '../../core/audit.ts'
import type { Event } from '../../core/event.ts'
import { isInOrder } from '../../core/ordering.ts'
import { freshParcel } from '../../core/parcel.ts'
import { matches } from '../../core/pattern.ts'
import { urgentTypes } from '../../core/rank.ts'
import type { Instant } from '../../core/time.ts'
import { type Box, openBox } from './box.ts'
import type { KeptDeaths, KeptGroups } from './groups.ts'
import { openRows, type Rows } from './ledger.ts'
import { type KeptOperations, noOperations } from './operations.ts'

export interface Door {
  to: Subscription
  readonly box: Box
}

/** Everything a broker and a database would keep. It outlives the connections to it. */
export interface World {
  readonly doors: Map<string, Door>
  readonly destinations: Map<string, Box>
  readonly rows: Rows
  readonly entries: Map<string, Entry>
  version: number
  readonly letters: Map<string, KeptLetter>
  readonly audit: AuditEntry[]
  readonly groups: KeptGroups
  readonly operations: KeptOperations
  readonly deaths: KeptDeaths
}

const named = new Map<string, World>()

/** Without a name a world of its own; with one the same world, as often as it is opened in this process. */
export const worldOf = (name: string): World => {
  if (!name) return newWorld()
  const known = named.get(name) ?? newWorld()
  named.set(name, known)
  return known
}

const newWorld = (): World => ({
  doors: new Map(),
  destinations: new Map(),
  rows: openRows(),
  entries: new Map(),
  version: 0,
  letters: new Map(),
  audit: [],
  groups: new Map(),
  operations: noOperations(),
  deaths: new Map(),
})

const doorName = ({ service, topic }: Address): string => JSON.stringify([service, topic])

export const doorAt = (world: World, to: Address): Door | undefined => world.doors.get(doorName(to))

/** Subscribing again is the same door, with the newer rules. */
export const openDoor = (world: World, to: Subscription): Door => {
  const door = doorAt(world, to) ?? { to, box: openBox() }
  door.to = to
  door.box.inOrder = to.order === 'key' ? (type) => isInOrder(to.ordering, type) : () => false
  door.box.urge(urgentTypes(to.urgency))
  world.doors.set(doorName(to), door)
  for (const destination of to.destinations) destinationAt(world, destination)
  return door
}

export const destinationAt = (world: World, { name, expire }: Destination): Box => {
  const box = world.destinations.get(name) ?? openBox()
  if (expire !== undefined) box.expire = expire
  world.destinations.set(name, box)
  return box
}

export const sendTo = (world: World, destination: string, event: Event, now: Instant): void =>
  destinationAt(world, { name: destination }).put(freshParcel(event, now), now)

/** The doors that hear an event of this topic. */
export const hearing = (world: World, topic: string, event: Event): readonly Door[] =>
  [...world.doors.values()].filter(
    ({ to }) => matches(to.topic, topic) && to.types.some((type) => matches(type, event.type)),
  )
