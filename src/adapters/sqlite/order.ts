import type { File } from './file.ts'
import { BURIED, PARKED } from './schema.ts'

/**
 * Order by key. Only the first unsettled parcel of a key can be taken; those behind it are parked, and the
 * next is let go when the first is settled for good. So a key in retry holds up its followers, however many
 * processes take from the subscription, and taking never has to step over them.
 */
export const isFollower = (file: File, door: number, orderKey: string): boolean =>
  file.sql(FIRST_OF_KEY).get(door, orderKey) !== undefined

/** Lets the next of the key go, when its first is gone. */
export const letNextGo = (file: File, door: number, orderKey: string): void => {
  file.sql(LET_GO).run(door, orderKey)
}

/** Who is in order by key, before and after a subscription was changed. */
interface Sorting {
  readonly inOrder: (type: string) => boolean
}

/** What lies there is as if it had come under the new rules, except what is out. */
export const changeOrder = (file: File, door: number, before: Sorting, after: Sorting): void => {
  const types = file
    .sql(TYPES)
    .all(door)
    .map(({ type }) => type as string)
  const gained = types.filter((type) => after.inOrder(type) && !before.inOrder(type))
  const lost = types.filter((type) => before.inOrder(type) && !after.inOrder(type))
  if (lost.length > 0) {
    // what the dead held goes on too
    file.sql(FORGET_DEAD).run(door, JSON.stringify(lost))
    file.sql(FREE).run(door, JSON.stringify(lost))
    file.sql(LET_HEADS_GO).run(door)
  }
  if (gained.length > 0) {
    file.sql(SET_KEYS).run(door, JSON.stringify(gained))
    file.sql(PARK_FOLLOWERS).run(door)
  }
}

const FIRST_OF_KEY =
  'SELECT id FROM reprieve_parcel WHERE subscription = ? AND order_key = ? ORDER BY id LIMIT 1'

const LET_GO = `
UPDATE reprieve_parcel SET at = due WHERE id = (${FIRST_OF_KEY}) AND at >= ${PARKED}`

/** Only of those with an order key, which are few where it was not asked for. */
const TYPES = `
SELECT DISTINCT type FROM reprieve_parcel
WHERE subscription = ? AND attributes ->> '$.extensions.orderkey' IS NOT NULL`

const OF_TYPES = 'AND type IN (SELECT value FROM json_each(?))'

const SET_KEYS = `
UPDATE reprieve_parcel SET order_key = attributes ->> '$.extensions.orderkey'
WHERE subscription = ? AND attributes ->> '$.extensions.orderkey' IS NOT NULL ${OF_TYPES}`

const PARK_FOLLOWERS = `
UPDATE reprieve_parcel SET at = due + ${PARKED}
WHERE subscription = ? AND order_key IS NOT NULL AND at = due AND EXISTS (
  SELECT 1 FROM reprieve_parcel AS ahead
  WHERE ahead.subscription = reprieve_parcel.subscription
    AND ahead.order_key = reprieve_parcel.order_key AND ahead.id < reprieve_parcel.id)`

const FORGET_DEAD = `DELETE FROM reprieve_parcel WHERE subscription = ? AND at = ${BURIED} ${OF_TYPES}`

const FREE = `
UPDATE reprieve_parcel SET order_key = NULL, at = CASE WHEN at >= ${PARKED} THEN due ELSE at END
WHERE subscription = ? AND order_key IS NOT NULL ${OF_TYPES}`

const LET_HEADS_GO = `
UPDATE reprieve_parcel SET at = due
WHERE subscription = ? AND at >= ${PARKED} AND NOT EXISTS (
  SELECT 1 FROM reprieve_parcel AS ahead
  WHERE ahead.subscription = reprieve_parcel.subscription
    AND ahead.order_key = reprieve_parcel.order_key AND ahead.id < reprieve_parcel.id)`
