import type { Settlement } from '../../contracts/transport.ts'
import type { Instant } from '../../core/time.ts'
import type { Door } from './doors.ts'
import type { Handle } from './holding.ts'
import { wordOf } from './keys.ts'
import { BURIED } from './parcel-schema.ts'
import { moment, rankAt, urgentOf } from './parcels.ts'
import type { Ask } from './pool.ts'
import { RANKS } from './ranks.ts'
import type { Ready } from './ready.ts'

/** What becomes of parcels that are ours. A token that moves on makes sure that it was once. */
export const parcelChanges = (ask: Ask, schema: string) => {
  const parcel = `${schema}.parcel`
  const named = (name: string, text: string, values: readonly unknown[]) =>
    ask({ name: `reprieve ${schema} ${name}`, text, values })

  /** Those that are still ours, under lock until the commit, with their order keys. */
  const lock = async (handles: readonly Handle[]): Promise<ReadonlyMap<string, string | null>> => {
    const { rows } = await named(
      'ours',
      `SELECT p.id, p.order_key FROM unnest($1::bigint[], $2::bigint[]) AS g(id, token)
       CROSS JOIN LATERAL (SELECT * FROM ${parcel} AS p WHERE p.id = g.id AND p.token = g.token FOR UPDATE) AS p`,
      tokensOf(handles),
    )
    return new Map(rows.map(({ id, order_key }) => [id as string, order_key as string | null]))
  }

  const remove = async (gone: readonly Ready[]): Promise<void> => {
    if (gone.length > 0)
      await named('remove', `DELETE FROM ${parcel} WHERE id = ANY ($1::bigint[])`, [idsOf(gone)])
  }

  /** The dead event's row stays and holds its order key. */
  const hold = async (dead: readonly Ready[]): Promise<void> => {
    if (dead.length === 0) return
    const letters = dead.map(({ settlement }) => (settlement as Bury).letter)
    await named(
      'hold',
      `UPDATE ${parcel} AS p SET at = ${BURIED}, token = token + 1, trail = NULL, letter = g.letter, generation = g.generation
       FROM unnest($1::bigint[], $2::text[], $3::integer[]) AS g(id, letter, generation) WHERE p.id = g.id`,
      [idsOf(dead), letters.map(({ id }) => wordOf(id)), letters.map(({ trail }) => trail.generation)],
    )
  }

  /** The row stays, and with it the place of an ordered parcel. */
  const putOff = async (door: Door, ours: readonly Ready[]): Promise<void> => {
    const later = ours.filter(({ settlement }) => settlement.do === 'later')
    const same = later.filter(({ written }) => !written)
    if (same.length > 0) {
      const { ranks, dues, tried } = waitsOf(same)
      await named(
        'later',
        `UPDATE ${parcel} AS p SET rank = g.rank, at = g.due, due = g.due, token = token + 1, tried = g.tried, trail = g.trail
         FROM unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::boolean[], $5::text[]) AS g(id, rank, due, tried, trail)
         WHERE p.id = g.id`,
        [idsOf(same), ranks, dues, tried, same.map(({ trail }) => trail ?? null)],
      )
    }
    for (const each of later) if (each.written) await putOffChanged(door, each)
  }

  /** It carries something else from now on. */
  const putOffChanged = async (door: Door, { settlement, handle, written }: Ready): Promise<void> => {
    const { event, eventId, source, type, trail, data, spent, generation } = written!
    await named(
      'changed',
      `UPDATE ${parcel} SET rank = $2, at = $3, due = $3, token = token + 1, tried = $4, urgent = $5, generation = $6,
         type = $7, event_id = $8, source = $9, event = $10, trail = $11, data = $12 WHERE id = $1`,
      [
        ...[handle.id, rankAt(door, written!), dueOf(settlement), spent > 0, urgentOf(written!), generation],
        ...[wordOf(type), eventId, source, event, trail, data],
      ],
    )
  }

  /** It was due already, so it is ready at once, and in its old place. Answers with the ids of those that were ours. */
  const giveBack = async (handles: readonly Handle[]): Promise<ReadonlySet<string>> => {
    if (handles.length === 0) return new Set()
    const { rows } = await named(
      'back',
      `UPDATE ${parcel} AS p SET at = due, token = p.token + 1
       FROM unnest($1::bigint[], $2::bigint[]) AS g(id, token) WHERE p.id = g.id AND p.token = g.token RETURNING p.id`,
      tokensOf(handles),
    )
    return new Set(rows.map(({ id }) => id as string))
  }

  /** Answers with the ids of those that are ours. */
  const extend = async (handles: readonly Handle[], until: Instant): Promise<ReadonlySet<string>> => {
    const { rows } = await named(
      'extend',
      `UPDATE ${parcel} AS p SET at = $3
       FROM unnest($1::bigint[], $2::bigint[]) AS g(id, token) WHERE p.id = g.id AND p.token = g.token RETURNING p.id`,
      [...tokensOf(handles), moment(until)],
    )
    return new Set(rows.map(({ id }) => id as string))
  }

  return { lock, remove, hold, putOff, giveBack, extend }
}

type Bury = Extract<Settlement, { do: 'bury' }>

const idsOf = (some: readonly Ready[]): readonly string[] => some.map(({ handle }) => handle.id)

/** By their ids: so they are locked in one order, whatever is done to them. */
const tokensOf = (handles: readonly Handle[]) => {
  const sorted = [...handles].sort((a, b) => Number(a.id) - Number(b.id))
  return [sorted.map(({ id }) => id), sorted.map(({ token }) => token)]
}

const dueOf = (settlement: Settlement): Instant =>
  moment((settlement as Extract<Settlement, { do: 'later' }>).parcel.due)

const waitsOf = (some: readonly Ready[]) => {
  const spent = some.map(
    ({ settlement }) => (settlement as Extract<Settlement, { do: 'later' }>).parcel.trail.spent > 0,
  )
  return {
    tried: spent,
    dues: some.map(({ settlement }) => dueOf(settlement)),
    ranks: some.map(({ handle }, at) =>
      handle.rank === RANKS.urgent ? RANKS.urgent : spent[at] ? RANKS.retry : RANKS.fresh,
    ),
  }
}
