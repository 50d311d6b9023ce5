import type { Outbox } from '../../contracts/tx.ts'
import type { Event } from '../../core/event.ts'
import type { Instant } from '../../core/time.ts'
import type { Database, Waiting } from './database.ts'
import type { Concern, Life } from './life.ts'
import type { Plant } from './plant.ts'

export interface DatabaseMeans {
  readonly database: Database
  readonly life: Life
  readonly now: () => Instant
  readonly heardBy: (type: string) => readonly string[]
  readonly plant: Plant
}

/** Longer than a publish takes; whoever dies leaves what he had to the others after that. */
const LEASE = 2000

export const outboxOf = (means: DatabaseMeans): Outbox => {
  const outbox = healthyOutbox(means)
  return means.plant.outbox?.(outbox) ?? outbox
}

const healthyOutbox = ({ database: { outbox }, life, now, heardBy }: DatabaseMeans): Outbox => {
  const concerns = (rows: readonly Waiting[]): readonly Concern[] =>
    rows.flatMap(({ event: { id, type } }) => heardBy(type).map((service) => ({ service, id })))
  const take = (most: number): readonly Waiting[] => {
    const rows = [...outbox].filter(({ at }) => at <= now()).slice(0, most)
    for (const row of rows) row.at = now() + LEASE
    return rows
  }
  const settle = (rows: readonly Waiting[], relayed: readonly (true | Instant)[]): void => {
    for (const [i, row] of rows.entries()) {
      const at = relayed[i]!
      if (at === true) outbox.delete(row)
      else row.at = at
    }
  }
  return {
    relay: async (most, _, publish) => {
      // nothing is asked of the world while there is nothing: most looks would be in vain, and each takes its time
      if (outbox.size === 0) return 0
      const rows = await life.gate('take from outbox', [], () => take(most))
      if (rows.length === 0) return 0
      const events: readonly Event[] = rows.map(({ event }) => event)
      const tell = (relayed: readonly (true | Instant)[]) =>
        life.gate('forget in outbox', concerns(rows), () => settle(rows, relayed))
      const relayed = await publish(events).catch(async (error) => {
        await tell(rows.map(() => now()))
        throw error
      })
      await tell(relayed)
      return rows.length
    },
  }
}
