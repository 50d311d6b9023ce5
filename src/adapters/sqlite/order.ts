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

/** The subscription asks for order from now on: what is not out and not the first of its key is parked. */
export const keepOrder = (file: File, door: number): void => {
  file.sql(SET_KEYS).run(door)
  file.sql(PARK_FOLLOWERS).run(door)
}

/** The subscription no longer asks for order: what the dead held goes on too. */
export const loseOrder = (file: File, door: number): void => {
  file.sql(FORGET_DEAD).run(door)
  file.sql(FREE_ALL).run(door)
}

const FIRST_OF_KEY =
  'SELECT id FROM reprieve_parcel WHERE subscription = ? AND order_key = ? ORDER BY id LIMIT 1'

const LET_GO = `
UPDATE reprieve_parcel SET at = due WHERE id = (${FIRST_OF_KEY}) AND at >= ${PARKED}`

const SET_KEYS = `
UPDATE reprieve_parcel SET order_key = attributes ->> '$.extensions.orderkey'
WHERE subscription = ? AND attributes ->> '$.extensions.orderkey' IS NOT NULL`

const PARK_FOLLOWERS = `
UPDATE reprieve_parcel SET at = due + ${PARKED}
WHERE subscription = ? AND order_key IS NOT NULL AND at = due AND EXISTS (
  SELECT 1 FROM reprieve_parcel AS ahead
  WHERE ahead.subscription = reprieve_parcel.subscription
    AND ahead.order_key = reprieve_parcel.order_key AND ahead.id < reprieve_parcel.id)`

const FORGET_DEAD = `DELETE FROM reprieve_parcel WHERE subscription = ? AND at = ${BURIED}`

const FREE_ALL = `
UPDATE reprieve_parcel SET order_key = NULL, at = CASE WHEN at >= ${PARKED} THEN due ELSE at END
WHERE subscription = ? AND order_key IS NOT NULL`
