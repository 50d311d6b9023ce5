import type { Door } from './doors.ts'
import { BURIED, PARKED } from './parcel-schema.ts'
import type { Ask } from './pool.ts'
import { RANKS } from './ranks.ts'

/** While the rules of what lies there change nobody else writes: what is published next is under the new ones. */
const LOCK = (schema: string): string => `LOCK TABLE ${schema}.parcel IN EXCLUSIVE MODE`

const AHEAD = (schema: string): string => `EXISTS (
  SELECT 1 FROM ${schema}.parcel AS ahead WHERE ahead.subscription = p.subscription
    AND ahead.order_key = p.order_key AND ahead.id < p.id)`

/** What lies there is as if it had come under the new rules. */
export const changeOrder = async (ask: Ask, schema: string, before: Door, after: Door): Promise<void> => {
  const { id } = after
  await ask({ text: LOCK(schema) })
  const found = `SELECT DISTINCT type FROM ${schema}.parcel WHERE subscription = $1 AND own_key IS NOT NULL`
  const types = await typesIn(ask, found, id)
  const gained = types.filter((type) => after.inOrder(type) && !before.inOrder(type))
  const lost = types.filter((type) => before.inOrder(type) && !after.inOrder(type))
  const put = (text: string, ...values: readonly unknown[]) => ask({ text, values: [id, ...values] })
  if (lost.length > 0) {
    // what the dead held goes on too
    await put(
      `DELETE FROM ${schema}.parcel WHERE subscription = $1 AND at = ${BURIED} AND type = ANY ($2::text[])`,
      lost,
    )
    await put(
      `UPDATE ${schema}.parcel SET order_key = NULL, at = CASE WHEN at >= ${PARKED} THEN due ELSE at END
       WHERE subscription = $1 AND order_key IS NOT NULL AND type = ANY ($2::text[])`,
      lost,
    )
    await put(
      `UPDATE ${schema}.parcel AS p SET at = due
       WHERE subscription = $1 AND at >= ${PARKED} AND NOT ${AHEAD(schema)}`,
    )
  }
  if (gained.length > 0) {
    await put(
      `UPDATE ${schema}.parcel SET order_key = own_key
       WHERE subscription = $1 AND own_key IS NOT NULL AND type = ANY ($2::text[])`,
      gained,
    )
    await put(
      `UPDATE ${schema}.parcel AS p SET at = due + ${PARKED}
       WHERE subscription = $1 AND order_key IS NOT NULL AND at = due AND ${AHEAD(schema)}`,
    )
  }
}

/** What lies there and says nothing itself is as if it had come under the new rules. */
export const changeUrgency = async (ask: Ask, schema: string, before: Door, after: Door): Promise<void> => {
  const { id } = after
  await ask({ text: LOCK(schema) })
  const types = await typesIn(ask, `SELECT DISTINCT type FROM ${schema}.parcel WHERE subscription = $1`, id)
  const gained = types.filter((type) => after.urges(type) && !before.urges(type))
  const lost = types.filter((type) => before.urges(type) && !after.urges(type))
  const rank = (as: string, some: readonly string[]) =>
    ask({
      text: `UPDATE ${schema}.parcel SET rank = ${as}
        WHERE subscription = $1 AND urgent IS NULL AND type = ANY ($2::text[])`,
      values: [id, some],
    })
  if (gained.length > 0) await rank(String(RANKS.urgent), gained)
  if (lost.length > 0) await rank(`CASE WHEN tried THEN ${RANKS.retry} ELSE ${RANKS.fresh} END`, lost)
}

const typesIn = async (ask: Ask, text: string, door: number): Promise<readonly string[]> =>
  (await ask({ text, values: [door] })).rows.map(({ type }) => type as string)
