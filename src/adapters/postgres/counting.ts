import type { Lag } from '../../contracts/transport.ts'
import type { Instant } from '../../core/time.ts'
import type { Door } from './doors.ts'
import { BURIED, PARKED } from './parcel-schema.ts'
import type { Ask } from './pool.ts'
import { forEachRank } from './ranks.ts'
import { oldestKept } from './taking.ts'

/** What is ready, followers of an order key included: they wait too, unless they are held behind a dead letter. */
export const countReady = async (ask: Ask, schema: string, door: Door, now: Instant): Promise<Lag> => {
  const of = (rank: number) => `FROM ${schema}.parcel WHERE subscription = $1 AND rank = ${rank}`
  const ready = (rank: number) => `SELECT count(*) ${of(rank)} AND at > $2 AND at <= $3`
  const parked = (rank: number) =>
    `SELECT count(*) ${of(rank)} AND at BETWEEN ${PARKED} AND ${PARKED} + $3::bigint`
  const oldest = (rank: number) => `SELECT due ${of(rank)} AND at > $2 AND at <= $3 ORDER BY at, id LIMIT 1`
  const { rows } = await ask({
    name: `reprieve ${schema} lag`,
    text: `SELECT ${forEachRank(ready, ' + ')} + ${forEachRank(parked, ' + ')} AS waiting,
      least(${forEachRank(oldest, ', ')}) AS oldest`,
    values: [door.id, oldestKept(door, now), Math.floor(now)],
  })
  const { waiting, oldest: first } = rows[0]!
  const { held, due } = door.ordered ? await countHeld(ask, schema, door, now) : { held: 0, due: 0 }
  return {
    waiting: Number(waiting) - due,
    ...(first !== null && { oldest: Number(first) }),
    ...(held > 0 && { held }),
  }
}

/** All that is held behind dead letters, and how many of those would else be waiting. */
const countHeld = async (ask: Ask, schema: string, door: Door, now: Instant) => {
  const buried = (rank: number) =>
    `SELECT order_key FROM ${schema}.parcel WHERE subscription = $1 AND rank = ${rank} AND at = ${BURIED}`
  const { rows } = await ask({
    name: `reprieve ${schema} held`,
    text: `SELECT count(*) AS held, count(*) FILTER (WHERE p.at <= ${PARKED} + $2::bigint) AS due
      FROM (${forEachRank(buried, ' UNION ')}) AS dead
      JOIN ${schema}.parcel AS p ON p.subscription = $1 AND p.order_key = dead.order_key AND p.at >= ${PARKED}`,
    values: [door.id, Math.floor(now)],
  })
  return { held: Number(rows[0]!.held), due: Number(rows[0]!.due) }
}
