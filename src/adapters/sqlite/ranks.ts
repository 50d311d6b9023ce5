import type { Rank } from '../../core/rank.ts'

/** As they stand in a parcel's row. */
export const RANKS: Readonly<Record<Rank, number>> = { fresh: 0, retry: 1, urgent: 2 }

const { fresh, retry, urgent } = RANKS

/** Where the rank does not matter: three ranges of the one index that begins with it. */
export const ANY_RANK = `rank IN (${fresh}, ${retry}, ${urgent})`
export const NOT_FRESH = `rank IN (${retry}, ${urgent})`

/** What the event itself says. */
export const OWN_PRIORITY = "attributes ->> '$.extensions.priority'"
export const BY_TRIES = `CASE WHEN trail ->> '$.spent' > 0 THEN ${retry} ELSE ${fresh} END`

/** Which types are urgent a subscription tells when it is opened next. What lies at destinations has no rank. */
export const RANK_ALL = `
UPDATE reprieve_parcel SET rank = CASE WHEN ${OWN_PRIORITY} IN ('high', 'critical') THEN ${urgent} ELSE ${BY_TRIES} END
WHERE (attributes IS NOT NULL OR trail IS NOT NULL)
  AND subscription IN (SELECT id FROM reprieve_subscription WHERE kind = 'subscription')`
