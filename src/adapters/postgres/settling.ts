import type { Settled } from '../../contracts/transport.ts'
import { endingOf, heldHere } from '../../core/ledger.ts'
import type { Instant } from '../../core/time.ts'
import { ackAll, isPlainAck } from './acking.ts'
import type { Door } from './doors.ts'
import { endWithin } from './ending.ts'
import { insertParcels } from './inserting.ts'
import { type Line, letNextGo, lockLines } from './lines.ts'
import { parcelChanges } from './parcel-changes.ts'
import { addressed } from './parcels.ts'
import type { Ask } from './pool.ts'
import { destinationOf, destinationsOf, type Ready } from './ready.ts'
import type { Room } from './room.ts'
import type { RowStatements } from './rows.ts'
import { droppingExpired } from './taking.ts'
import { again } from './trouble.ts'

export interface Answers {
  readonly settled: ReadonlyMap<Ready, Settled>
  /** Something may have become ready at this door, or will sooner than was known. */
  readonly stirs: boolean
}

/** Plain acks apart from all else, so that most of what is settled takes one statement. */
export const settleAt = async (room: Room, door: Door, ready: readonly Ready[]): Promise<Answers> => {
  const plain = ready.filter((each) => isPlainAck(door, each))
  const others = ready.filter((each) => !isPlainAck(door, each))
  // named twice, in two ways, the first counts: both are one transaction then
  const parts = firstOfEach(ready).length < ready.length ? [ready] : [plain, others]
  const settled = new Map<Ready, Settled>()
  await Promise.all(
    parts.map(async (part) => {
      try {
        await settlePart(room, door, part, settled)
      } catch (error) {
        for (const each of part) if (!settled.has(each)) settled.set(each, error as Error)
      }
    }),
  )
  return { settled, stirs: others.length > 0 }
}

const settlePart = async (
  { pool, schema, clock, bells, ledger, subscriptions }: Room,
  door: Door,
  part: readonly Ready[],
  settled: Map<Ready, Settled>,
): Promise<void> => {
  const now = clock.now()
  if (part.length > 0 && part.every((each) => isPlainAck(door, each))) {
    for (const each of await again(() => ackAll(pool.ask, schema, part, now))) settled.set(each, 'done')
  }
  const rest = part.filter((each) => !settled.has(each))
  if (rest.length === 0) return
  const destinations = await subscriptions.buryAt(destinationsOf(rest))
  const desk = { schema, door, now, ledger, destinations }
  const answers = await again(() => pool.transaction((ask) => settleBatch({ ask, ...desk }, rest)))
  for (const [at, each] of rest.entries()) settled.set(each, answers[at]!)
  bells.ring([...destinations.values()].map(({ id }) => id))
}

interface Desk {
  readonly ask: Ask
  readonly schema: string
  readonly door: Door
  readonly now: Instant
  readonly ledger: RowStatements
  readonly destinations: ReadonlyMap<string, Door>
}

/**
 * A batch within one transaction. Each settlement happens wholly, the end of its claim included, or not at all. Locks
 * are taken in the order that `lines.ts` names.
 */
const settleBatch = async (desk: Desk, batch: readonly Ready[]): Promise<readonly Settled[]> => {
  const { ask, schema, door } = desk
  const changes = parcelChanges(ask, schema)
  const orderKeys = await changes.lock(batch.map(({ handle }) => handle))
  const ours = await endClaims(
    desk,
    firstOfEach(batch).filter(({ handle }) => orderKeys.has(handle.id)),
  )
  const keyOf = ({ handle }: Ready) => orderKeys.get(handle.id) ?? null
  const lines = ours.filter(endsItsTurn).flatMap((each): readonly Line[] => {
    const orderKey = keyOf(each)
    return orderKey === null ? [] : [{ door: door.id, orderKey }]
  })
  if (lines.length > 0) await lockLines(ask, schema, lines)

  const isHolding = (each: Ready) =>
    each.settlement.do === 'bury' && each.settlement.holds === true && keyOf(each) !== null
  await changes.hold(ours.filter(isHolding))
  await changes.remove(ours.filter((each) => endsItsTurn(each) && !isHolding(each)))
  await changes.putOff(door, ours)
  await changes.giveBack(
    ours.filter(({ settlement }) => settlement.do === 'give back').map(({ handle }) => handle),
  )
  if (lines.length > 0) await letNextGo(ask, schema, lines)
  await send(desk, ours)
  const done = new Set(ours)
  return batch.map((each) => (done.has(each) ? 'done' : 'lost'))
}

const endsItsTurn = ({ settlement }: Ready): boolean => settlement.do === 'ack' || settlement.do === 'bury'

/** Named twice in one batch the first counts. */
const firstOfEach = (batch: readonly Ready[]): readonly Ready[] => {
  const seen = new Set<string>()
  return batch.filter(({ handle }) => !seen.has(handle.id) && seen.add(handle.id))
}

/** Without those whose claim is no longer theirs. */
const endClaims = async ({ ask, ledger, now }: Desk, batch: readonly Ready[]): Promise<readonly Ready[]> => {
  const ends = batch.flatMap((each) => {
    const { settlement } = each
    const held = heldHere(settlement.delivery.claim)
    return held ? [{ each, held, as: endingOf(settlement, settlement.delivery.parcel.trail) }] : []
  })
  if (ends.length === 0) return batch
  const ended = await endWithin(ask, ledger, ends, now)
  const lost = new Set(ends.filter((_, at) => !ended[at]).map(({ each }) => each))
  return batch.filter((each) => !lost.has(each))
}

const send = async ({ ask, schema, now, destinations }: Desk, ours: readonly Ready[]): Promise<void> => {
  const parcels = ours.flatMap(({ settlement, written }) => {
    const to = destinationOf(settlement)
    return to === undefined ? [] : [addressed(destinations.get(to)!, written!, now)]
  })
  if (parcels.length === 0) return
  for (const door of new Set(parcels.map(({ door }) => door)))
    if (door.expire !== undefined) await ask(droppingExpired(schema, door, now))
  await insertParcels(ask, schema, parcels)
}
