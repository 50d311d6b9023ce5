import type { Address, Destination, Subscription } from '../../contracts/transport.ts'
import { unheard } from '../../core/door.ts'
import { matches } from '../../core/pattern.ts'
import { type Door, doorOf, termsOf, termsOfDestination } from './doors.ts'
import { wordOf } from './keys.ts'
import { changeOrder, changeUrgency } from './line-changes.ts'
import type { Ask, Pool } from './pool.ts'
import { again } from './trouble.ts'

/** All doors, as they were at one moment. */
export interface Known {
  /** Grows with each change: who writes by what is known here makes sure that it is still so. */
  readonly version: number
  /** Those who want this very event. */
  hearing(topic: string, type: string): readonly Door[]
  find(address: Omit<Address, 'consumerGroup'>): Door | undefined
  destination(name: string): Door | undefined
}

export interface Subscriptions {
  /** As last looked, or from a look. */
  known(): Promise<Known>
  look(): Promise<Known>
  subscribe(to: Subscription): Promise<Door>
  destination(to: Destination): Promise<Door>
  /** Destinations by their names, made where they are missing: what is buried must never lack a place. */
  buryAt(names: Iterable<string>): Promise<ReadonlyMap<string, Door>>
}

/** Publishing by what is remembered needs no look at the doors; a change of them is seen by the insert itself. */
export const subscriptionsIn = (pool: Pool, schema: string): Subscriptions => {
  let remembered: Promise<Known> | undefined
  const statements = {
    look: `SELECT c.count, s.id, s.kind, s.service, s.topic, s.terms
      FROM ${schema}.subscription_change AS c LEFT JOIN ${schema}.subscription AS s ON true ORDER BY s.id`,
    change: `UPDATE ${schema}.subscription_change SET count = count + 1`,
    find: `SELECT id, terms FROM ${schema}.subscription WHERE kind = $1 AND service = $2 AND topic = $3`,
    keep: `INSERT INTO ${schema}.subscription (kind, service, topic, terms) VALUES ($1, $2, $3, $4)
      ON CONFLICT (kind, service, topic) DO UPDATE SET terms = excluded.terms RETURNING id`,
  }

  const look = (): Promise<Known> => {
    const looking = pool.ask({ text: statements.look }).then(({ rows }) => knownOf(rows))
    remembered = looking
    looking.catch(() => {
      if (remembered === looking) remembered = undefined
    })
    return looking
  }

  /** Those that change doors do so one after another, by the row of the counter. */
  const keep = async (
    name: readonly [kind: Door['kind'], service: string, topic: string],
    terms: string,
  ): Promise<Door> => {
    const [kind] = name
    const find = async (ask: Ask): Promise<Door | undefined> => {
      const row = (await ask({ text: statements.find, values: name })).rows[0]
      return row && doorOf(row.id as number, kind, row.terms as string)
    }
    const before = await find(pool.ask)
    if (before?.terms === terms) return before
    const door = await again(() =>
      pool.transaction(async (ask) => {
        await ask({ text: statements.change })
        const was = await find(ask)
        const { rows } = await ask({ text: statements.keep, values: [...name, terms] })
        const is = doorOf(rows[0]!.id as number, kind, terms)
        if (was && was.order !== is.order) await changeOrder(ask, schema, was, is)
        if (was && was.urgency !== is.urgency) await changeUrgency(ask, schema, was, is)
        return is
      }),
    )
    remembered = undefined
    return door
  }

  const destination = (to: Destination): Promise<Door> =>
    keep(['destination', '', wordOf(to.name)], termsOfDestination(to))

  return {
    known: () => remembered ?? look(),
    look,
    subscribe: (to) => keep(['subscription', wordOf(to.service), wordOf(to.topic)], termsOf(to)),
    destination,
    buryAt: async (names) => {
      const doors = new Map<string, Door>()
      for (const name of names) {
        const known = (await (remembered ?? look())).destination(name) ?? (await look()).destination(name)
        doors.set(name, known ?? (await destination({ name })))
      }
      return doors
    },
  }
}

const MOST_TOPICS = 10_000

const knownOf = (rows: readonly Readonly<Record<string, unknown>>[]): Known => {
  const doors = new Map<string, Door>()
  for (const { id, kind, service, topic, terms } of rows) {
    if (id === null) continue
    const door = doorOf(id as number, kind as Door['kind'], terms as string)
    doors.set(JSON.stringify([kind, service, topic]), door)
  }
  const subscriptions = [...doors.values()].filter(({ kind }) => kind === 'subscription')
  const topics = new Map<string, readonly Door[]>()
  const to = (topic: string): readonly Door[] => {
    let found = topics.get(topic)
    if (!found) {
      if (topics.size > MOST_TOPICS) topics.clear()
      found = subscriptions.filter((door) => matches(door.topic, topic))
      topics.set(topic, found)
    }
    return found
  }
  return {
    version: Number(rows[0]!.count),
    hearing: (topic, type) => {
      const wanting = to(topic).filter((door) => door.wants(type))
      if (wanting.length === 0) throw unheard(topic, type)
      return wanting
    },
    find: ({ service, topic }) => doors.get(JSON.stringify(['subscription', wordOf(service), wordOf(topic)])),
    destination: (name) => doors.get(JSON.stringify(['destination', '', wordOf(name)])),
  }
}
