import type { DeadKey } from '../../contracts/transport.ts'
import type { Parcel } from '../../core/parcel.ts'
import type { Instant } from '../../core/time.ts'
import type { File } from './file.ts'
import { letNextGo } from './order.ts'
import { instant, rankAt, replaceData, type Written } from './parcels.ts'
import { ANY_RANK } from './ranks.ts'
import { BURIED, PARKED } from './schema.ts'
import type { Door } from './subscriptions.ts'

/**
 * Keys held behind a dead letter. The row of the dead event stays, as the head of its line: so its followers wait as
 * they do behind a retry, a replay comes to life in its old place, and to free the key is to take the row away.
 */
export const holdKey = (
  file: File,
  { id, token }: { readonly id: number; readonly token: number },
  letter: string,
  generation: number,
): boolean => file.sql(HOLD).run(JSON.stringify({ letter, generation }), id, token).changes === 1

/** Where the subscription lost its order meanwhile there is no line to hold. */
const HOLD = `
UPDATE reprieve_parcel SET at = ${BURIED}, token = token + 1, trail = ?
WHERE id = ? AND token = ? AND order_key IS NOT NULL`

export const releaseKey = (file: File, door: Door, { orderKey, letter }: DeadKey): void => {
  if (file.sql(RELEASE).run(door.id, orderKey, letter).changes > 0) letNextGo(file, door.id, orderKey)
}

const OF_LETTER = `
WHERE subscription = ? AND order_key = ? AND at = ${BURIED} AND trail ->> '$.letter' = ?`
const RELEASE = `DELETE FROM reprieve_parcel ${OF_LETTER}`

export const countBehind = (file: File, door: Door, { orderKey, letter }: DeadKey): number =>
  file.sql(BEHIND).get(door.id, orderKey, door.id, orderKey, letter)!.behind as number

const BEHIND = `
SELECT count(*) AS behind FROM reprieve_parcel
WHERE subscription = ? AND order_key = ? AND at >= ${PARKED}
  AND EXISTS (SELECT 1 FROM reprieve_parcel ${OF_LETTER})`

/**
 * A parcel that is forwarded may be known in the line of its key. The replay of a dead head takes its place; what
 * stands there already, or has died there, came twice because a process died between its forward and its ack: to put it
 * behind later ones would turn the order round. False: it is new here.
 */
export const isInLine = (file: File, door: Door, parcel: Parcel, written: Written): boolean => {
  if (written.orderKey === null || !door.inOrder(written.type)) return false
  const { event, trail, due } = parcel
  const own = wordOf(event.extensions.correlationid)
  return file
    .sql(IN_LINE)
    .all(door.id, written.id, written.orderKey, written.source)
    .some(({ id, letter, generation, correlation, data }) => {
      if (letter !== null && letter === trail.replay?.letter) {
        revive(file, door, id as number, written, due)
        return true
      }
      if ((generation as number) < trail.generation || wordOf(correlation) !== own) return false
      return isSame(data as Uint8Array | null, written.data)
    })
}

export const IN_LINE = `
SELECT id, iif(at = ${BURIED}, trail ->> '$.letter', NULL) AS letter,
  coalesce(trail ->> '$.generation', 0) AS generation,
  attributes ->> '$.extensions.correlationid' AS correlation, bytes AS data
FROM reprieve_parcel LEFT JOIN reprieve_data ON parcel = id WHERE subscription = ? AND event = ? AND order_key = ? AND source = ?`

const wordOf = (correlation: unknown): string => String(correlation ?? '')

const isSame = (a: Uint8Array | null, b: Uint8Array | null): boolean =>
  a === null || b === null ? a === b : Buffer.compare(a, b) === 0

const revive = (file: File, door: Door, id: number, written: Written, at: Instant): void => {
  const due = instant(at)
  const { type, attributes, headers, trail, data } = written
  file.sql(REVIVE).run(rankAt(door, written), due, due, type, attributes, headers, trail, id)
  replaceData(file, id, data)
}

const REVIVE = `
UPDATE reprieve_parcel SET rank = ?, at = ?, due = ?, token = token + 1, deliveries = 0,
  type = ?, attributes = ?, headers = ?, trail = ? WHERE id = ?`

const HELD = `
SELECT count(*) AS held, count(*) FILTER (WHERE at <= ?) AS due FROM reprieve_parcel
WHERE subscription = ? AND ${ANY_RANK} AND at >= ${PARKED} AND order_key IN (
  SELECT order_key FROM reprieve_parcel WHERE subscription = ? AND ${ANY_RANK} AND at = ${BURIED})`

/** All that is held behind dead letters, and how many of those would else be waiting. */
export const countHeld = (file: File, door: Door, now: Instant): { held: number; due: number } => {
  const row = file.sql(HELD).get(PARKED + now, door.id, door.id)!
  return { held: row.held as number, due: row.due as number }
}
