import type { File } from './file.ts'
import { BY_TRIES, OWN_PRIORITY, RANKS } from './ranks.ts'

/** Which types are urgent, before and after a subscription was changed. */
interface Urging {
  readonly urges: (type: string) => boolean
}

/** What lies there and says nothing itself is as if it had come under the new rules. */
export const changeUrgency = (file: File, door: number, before: Urging, after: Urging): void => {
  const types = file
    .sql(TYPES)
    .all(door)
    .map(({ type }) => type as string)
  const gained = types.filter((type) => after.urges(type) && !before.urges(type))
  const lost = types.filter((type) => before.urges(type) && !after.urges(type))
  if (gained.length > 0)
    file.sql(`UPDATE reprieve_parcel SET rank = ${RANKS.urgent} ${OF}`).run(door, json(gained))
  if (lost.length > 0) file.sql(`UPDATE reprieve_parcel SET rank = ${BY_TRIES} ${OF}`).run(door, json(lost))
}

const json = (types: readonly string[]): string => JSON.stringify(types)

const TYPES = 'SELECT DISTINCT type FROM reprieve_parcel WHERE subscription = ?'
const OF = `WHERE subscription = ? AND ${OWN_PRIORITY} IS NULL AND type IN (SELECT value FROM json_each(?))`
