import type { Delivery, Lag, Subscription } from '../../contracts/transport.ts'
import { type Turns, takeInTurn } from '../../core/rank.ts'
import type { Instant } from '../../core/time.ts'
import { countHeld } from './dead-keys.ts'
import type { File } from './file.ts'
import { claimKey } from './ledger.ts'
import { COLUMNS, instant, type ParcelRow, readParcel } from './parcels.ts'
import { ANY_RANK, NOT_FRESH, RANKS } from './ranks.ts'
import { PARKED } from './schema.ts'
import type { Door } from './subscriptions.ts'

/** What of a delivery stays in here. It rides on the delivery itself, so that a copy of one can be settled too. */
export interface Handle {
  readonly id: number
  readonly token: number
  readonly rank: number
  readonly orderKey: string | null
  until: Instant
  /** Among what its inlet holds. */
  place: number
}

export const NOWHERE = -1
export const HANDLE = Symbol('sqlite handle')

export interface Taken extends Delivery {
  readonly [HANDLE]: Handle
}

export const handleOf = (delivery: Delivery): Handle | undefined => (delivery as Partial<Taken>)[HANDLE]

/** Which types to pass by, as a parameter of SQL; empty where there are none. */
export type Passing = readonly [] | readonly [types: string]

export const passBy = (except: ReadonlySet<string> | undefined): Passing =>
  except && except.size > 0 ? [JSON.stringify([...except])] : []

const ready = (rank: string): string =>
  `FROM reprieve_parcel WHERE subscription = ? AND ${rank} AND at > ? AND at <= ?`
const READY = ready(ANY_RANK)
const READY_OF_RANK = ready('rank = ?')
const NOT_PASSED_BY = 'AND type NOT IN (SELECT value FROM json_each(?))'

/** What lay at a destination longer than it keeps is as good as gone. */
const oldestKept = ({ expire }: Door, now: Instant): Instant => (expire === undefined ? -1 : now - expire)

const anyOf = (rank: string) => {
  const any = `SELECT 1 ${ready(rank)} LIMIT 1`
  const anyNotPassedBy = `SELECT 1 ${ready(rank)} ${NOT_PASSED_BY} LIMIT 1`
  return (file: File, door: Door, now: Instant, passing: Passing): boolean =>
    file
      .sql(passing.length > 0 ? anyNotPassedBy : any)
      .get(door.id, oldestKept(door, now), now, ...passing) !== undefined
}

export const anyReady = anyOf(ANY_RANK)
/** Mostly there are none, and to see that here costs a fraction of what looking for each does. */
const anyNotFresh = anyOf(NOT_FRESH)

/** When something that is not ready yet will be; undefined where nothing is on its way. */
export const nextReady = (file: File, door: Door, now: Instant): Instant | undefined => {
  const look = file.sql(NEXT)
  const next = Object.values(RANKS).flatMap(
    (rank) => (look.get(door.id, rank, now)?.at as number | null) ?? [],
  )
  return next.length > 0 ? Math.min(...next) : undefined
}

/** For one rank: over all, the least of each could not be told from the index. */
const NEXT = `
SELECT min(at) AS at FROM reprieve_parcel WHERE subscription = ? AND rank = ? AND at > ? AND at < ${PARKED}`

const READY_WITH_DATA = READY_OF_RANK.replace(
  'reprieve_parcel',
  'reprieve_parcel LEFT JOIN reprieve_data ON parcel = id',
)
const looking = (which: string): string =>
  `SELECT ${COLUMNS} ${READY_WITH_DATA} ${which} ORDER BY at, id LIMIT ?`
const LOOK = looking('')
const LOOK_NOT_PASSED_BY = looking(NOT_PASSED_BY)
/** One by one: it costs no more than all in one statement, which would have to look for them again. */
const TAKE = 'UPDATE reprieve_parcel SET at = ?, token = token + 1, deliveries = deliveries + 1 WHERE id = ?'

export interface Wish {
  readonly max: number
  readonly turns: Turns
  readonly now: Instant
  readonly passing: Passing
}

export interface Gulp {
  readonly taken: readonly Taken[]
  /** How the turns stand after it. */
  readonly passed: number
}

/** Takes at most `max` ready parcels in turn under a lease, and makes the claims they need in the ledger. */
export const takeParcels = (
  file: File,
  door: Door,
  { lease, ledgerKey }: Pick<Subscription, 'lease' | 'ledgerKey'>,
  { max, turns, now, passing }: Wish,
): Gulp => {
  dropExpired(file, door, now)
  const until = instant(now + lease)
  const look = file.sql(passing.length > 0 ? LOOK_NOT_PASSED_BY : LOOK)
  look.setReturnArrays(true)
  const take = file.sql(TAKE)
  const since = oldestKept(door, now)
  const takeRow = (row: ParcelRow): Taken => {
    const [id, token, deliveries, orderKey] = row
    const rank = row[12]
    take.run(until, id)
    const parcel = readParcel(row)
    const redelivered = deliveries > 0 || parcel.trail.spent > 0
    const key = ledgerKey?.(parcel, redelivered)
    const handle = { id, token: token + 1, rank, orderKey, until, place: NOWHERE }
    if (!key) return { parcel, redelivered, [HANDLE]: handle }
    return { parcel, redelivered, claim: claimKey(file, key, now, until), [HANDLE]: handle }
  }
  const onlyFresh = !anyNotFresh(file, door, now, passing)
  return takeInTurn(max, turns, (rank, most) =>
    onlyFresh && rank !== 'fresh'
      ? []
      : (look.all(door.id, RANKS[rank], since, now, ...passing, most) as unknown as readonly ParcelRow[]).map(
          takeRow,
        ),
  )
}

const DROP_EXPIRED = `
DELETE FROM reprieve_parcel WHERE id IN (
  SELECT id FROM reprieve_parcel
  WHERE subscription = ? AND rank = ${RANKS.fresh} AND at <= ? ORDER BY at LIMIT 100)`

/** A destination with an end to its patience: what lay there longer is dropped, some at a time. */
export const dropExpired = (file: File, door: Door, now: Instant): void => {
  if (door.expire !== undefined) file.sql(DROP_EXPIRED).run(door.id, oldestKept(door, now))
}

const NONE_HELD = { held: 0, due: 0 }

const COUNT_READY = `
SELECT (SELECT count(*) ${READY})
  + (SELECT count(*) FROM reprieve_parcel WHERE subscription = ? AND ${ANY_RANK} AND at BETWEEN ${PARKED} AND ?) AS waiting`
const OLDEST = `SELECT due ${READY_OF_RANK} ORDER BY at, id LIMIT 1`

/** What is ready, followers of an order key included: they wait too, unless they are held. */
export const countReady = (file: File, door: Door, now: Instant): Lag => {
  const { id } = door
  const since = oldestKept(door, now)
  const row = file.sql(COUNT_READY).get(id, since, now, id, PARKED + now)!
  const look = file.sql(OLDEST)
  const oldest = Object.values(RANKS).flatMap(
    (rank) => (look.get(id, rank, since, now)?.due as number | undefined) ?? [],
  )
  const { held, due } = door.ordered ? countHeld(file, door, now) : NONE_HELD
  return {
    waiting: (row.waiting as number) - due,
    ...(oldest.length > 0 && { oldest: Math.min(...oldest) }),
    ...(held > 0 && { held }),
  }
}
