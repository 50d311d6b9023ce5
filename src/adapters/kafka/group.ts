import type { Millis } from '../../core/time.ts'
import { type Fetching, fetching } from './fetching.ts'
import { type Member, memberOf } from './member.ts'
import type { Withheld } from './topics.ts'
import { trailing } from './trailing.ts'
import type { Wire } from './wire.ts'
import { withholding } from './withholding.ts'

/** One consumer group in this process: its member, and who takes deliveries of which topic. */
export interface Group {
  readonly name: string
  readonly member: Member
  /** Where a parcel for one of its subscriptions waits. */
  readonly later: (wait: number) => string
  /** Its topic is someone else's: nothing of ours is written there. */
  readonly foreign: boolean
  /** Makes sure that what it writes to is there, each in its own shape. */
  readonly ready: (topics: readonly string[]) => Promise<void>
  /** It goes on without some of its topics. */
  readonly lacking: boolean
  doors(topic: string): ReadonlySet<Door>
  open(door: Door): void
  /** Joins, at the first receive: with everything that has been subscribed so far. */
  begin(): void
  /** What is out goes back. Leaves with the last one. */
  shut(door: Door): Promise<void>
  close(): Promise<void>
}

/** An inlet, as far as its group knows it. */
export interface Door {
  readonly topic: string
  readonly window: number
  /** How many it has out. */
  out: number
  /** How many of those came from retry topics. */
  retrying: number
  closed: boolean
}

export interface GroupOptions {
  readonly name: string
  /** Topics whose records are parcels, beside those of its doors. */
  readonly parcelTopics: readonly string[]
  readonly later: (wait: number) => string
  /** Its topic is someone else's. */
  readonly foreign?: boolean
  /** Makes sure that topics which its settlements write to are there. */
  ready(topics: readonly string[], doors: readonly string[]): Promise<void>
  /** Stuck records stay where they are: nobody moves them elsewhere. */
  readonly squeezes?: boolean
  /** What must exist for its doors; answers with what it has to go on without. */
  ensure(topics: readonly string[], anew: boolean): Promise<Withheld>
  /** What else goes on while it is joined. */
  onBegin?(group: Group): void
  /** Nobody is left in it. */
  onEmpty(): void
}

/** What is withheld is looked for so often. */
export const LOOK_AGAIN: Millis = 30_000

export const consumerGroup = (wire: Wire, options: GroupOptions): Group => {
  const doors = new Map<string, Set<Door>>()
  const parcelTopics = new Set(options.parcelTopics)
  let begun = false
  let fetches: Fetching | undefined
  const windowOf = (each: ReadonlySet<Door> = new Set()) =>
    [...each].reduce((sum, { window }) => sum + window, 0)

  const without = withholding({
    clock: wire.tools.clock,
    look: (anew) => options.ensure([...doors.keys()], anew),
    tell: (topic, why) => member.trouble(`goes on without ${topic}`, why, LOOK_AGAIN),
  })
  const isThere = (topic: string) => !without.has(topic)
  const member: Member = memberOf(wire, options.name, {
    topics: () => [...new Set([...doors.keys(), ...options.parcelTopics])].filter(isThere),
    squeezes: options.squeezes ?? false,
    carriesParcels: (topic) => parcelTopics.has(topic),
    window: (topic) => windowOf(doors.get(topic)),
    ensure: without.ensure,
  })
  const leave = async () => {
    options.onEmpty()
    await member.leave()
    await fetches?.close()
  }
  const shut = async (door: Door) => {
    const known = doors.get(door.topic)
    if (!known?.delete(door)) return
    door.closed = true
    for (const tenure of member.tenures.values()) tenure.takeBack(door)
    door.out = 0
    door.retrying = 0
    if (known.size === 0) doors.delete(door.topic)
    member.bell.ring()
    if (doors.size === 0) await leave()
    else if (known.size === 0 && begun) member.join()
  }

  const group: Group = {
    name: options.name,
    member,
    later: options.later,
    foreign: options.foreign ?? false,
    ready: (names) => options.ready(names, [...doors.keys()].filter(isThere)),
    get lacking() {
      return without.any
    },
    doors: (topic) => doors.get(topic) ?? new Set(),
    open: (door) => {
      const known = doors.get(door.topic)
      if (known) known.add(door)
      else {
        doors.set(door.topic, new Set([door]))
        if (begun) member.join()
      }
    },
    begin: () => {
      if (begun) return
      begun = true
      member.join()
      fetches = fetching(wire, member)
      void trailing(wire.tools.clock, member)
      options.onBegin?.(group)
    },
    shut,
    close: async () => {
      await Promise.all([...doors.values()].flatMap((ofTopic) => [...ofTopic]).map(shut))
    },
  }
  return group
}
