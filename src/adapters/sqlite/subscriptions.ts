import type { Address, Destination, Subscription } from '../../contracts/transport.ts'
import { type Hearing, hearingOf, unheard } from '../../core/door.ts'
import type { Ordering } from '../../core/ordering.ts'
import { matches } from '../../core/pattern.ts'
import type { Urgency } from '../../core/rank.ts'
import type { Millis } from '../../core/time.ts'
import type { File } from './file.ts'
import { changeOrder } from './order.ts'
import { changeUrgency } from './urgency.ts'

/** A row of `reprieve_subscription`: one consumer's door, or a destination, which is a door of its own kind. */
export interface Door extends Hearing {
  readonly id: number
  readonly kind: 'subscription' | 'destination'
  readonly service: string
  readonly topic: string
  readonly expire: Millis | undefined
}

/**
 * All doors of the file, remembered as long as nobody changes one: a counter in the file, read once per job,
 * tells. To be used within a transaction, so that what it answers holds until the commit.
 */
export interface Subscriptions {
  /** Those to whom an event on this topic goes, whatever they think of its type. */
  to(topic: string): readonly Door[]
  find(address: Address): Door | undefined
  subscribe(to: Subscription): Door
  destination(to: Destination): Door
  /** A destination by its name, made where it is missing: what is buried must never lack a place. */
  buryAt(name: string): Door
  /** Nothing remembered can be trusted any more. */
  forget(): void
}

export const subscriptionsOf = (file: File): Subscriptions => {
  let version = 0
  let doors = new Map<string, Door>()
  let topics = new Map<string, readonly Door[]>()

  const refresh = (): void => {
    const row = file.sql("SELECT value FROM reprieve_meta WHERE name = 'subscriptions'").get()
    if (row?.value === version) return
    doors = new Map(
      file
        .sql('SELECT * FROM reprieve_subscription ORDER BY id')
        .all()
        .map(doorOf)
        .map((door) => [nameOf(door.kind, door.service, door.topic), door]),
    )
    topics = new Map()
    version = row?.value as number
  }

  const changed = (): void => {
    file.sql("UPDATE reprieve_meta SET value = value + 1 WHERE name = 'subscriptions'").run()
    refresh()
  }

  const subscribe = (to: Subscription): Door => {
    refresh()
    const name = nameOf('subscription', to.service, to.topic)
    const before = doors.get(name)
    const ordered = to.order === 'key' ? 1 : 0
    file.sql(UPSERT).run('subscription', to.service, to.topic, to.consumerGroup, wanted(to), ordered, null)
    changed()
    const door = doors.get(name)!
    if (before && before.order !== door.order) changeOrder(file, door.id, before, door)
    if (before && before.urgency !== door.urgency) changeUrgency(file, door.id, before, door)
    return door
  }

  const destination = ({ name, expire }: Destination): Door => {
    refresh()
    const known = doors.get(nameOf('destination', '', name))
    if (known && known.expire === expire) return known
    file.sql(UPSERT).run('destination', '', name, '', '["*"]', 0, expire ?? null)
    changed()
    return doors.get(nameOf('destination', '', name))!
  }

  return {
    to: (topic) => {
      refresh()
      let found = topics.get(topic)
      if (!found) {
        if (topics.size > MOST_TOPICS) topics.clear()
        found = [...doors.values()].filter(
          (door) => door.kind === 'subscription' && matches(door.topic, topic),
        )
        topics.set(topic, found)
      }
      return found
    },
    find: ({ service, topic }) => {
      refresh()
      return doors.get(nameOf('subscription', service, topic))
    },
    subscribe,
    destination,
    buryAt: (name) => {
      refresh()
      return doors.get(nameOf('destination', '', name)) ?? destination({ name })
    },
    forget: () => {
      version = 0
    },
  }
}

/** Those who want this very event; where there are none nothing is written. */
export const hearing = (subscriptions: Subscriptions, topic: string, type: string): readonly Door[] => {
  const doors = subscriptions.to(topic).filter((door) => door.wants(type))
  if (doors.length === 0) throw unheard(topic, type)
  return doors
}

const MOST_TOPICS = 10_000

const UPSERT = `
INSERT INTO reprieve_subscription (kind, service, topic, consumer_group, types, ordered, expire)
VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (kind, service, topic) DO UPDATE SET
  consumer_group = excluded.consumer_group, types = excluded.types,
  ordered = excluded.ordered, expire = excluded.expire`

const nameOf = (kind: string, service: string, topic: string): string =>
  JSON.stringify([kind, service, topic])

/** As they are wanted; with what is in order and what is urgent and what not, where that differs. */
interface Wanted {
  readonly types: readonly string[]
  readonly ordering?: Ordering
  readonly urgency?: Urgency
}

const wanted = ({ types, ordering, urgency }: Subscription): string =>
  JSON.stringify(ordering || urgency ? { types, ordering, urgency } : types)

const wantedOf = (text: string): Wanted => {
  const read = JSON.parse(text) as Wanted | readonly string[]
  return Array.isArray(read) ? { types: read } : (read as Wanted)
}

const doorOf = (row: Record<string, unknown>): Door => {
  const { types, ordering, urgency } = wantedOf(row.types as string)
  return {
    id: row.id as number,
    kind: row.kind as Door['kind'],
    service: row.service as string,
    topic: row.topic as string,
    expire: (row.expire as number | null) ?? undefined,
    ...hearingOf({ types, ordered: row.ordered === 1, ordering, urgency }),
  }
}
