import type { Ask, Pool } from './pool.ts'
import { LOCK } from './schema.ts'
import { differs, stateOf, unavailable } from './trouble.ts'

export const PARCELS_VERSION = 1

/** Larger than any moment that is kept, so that what is parked sorts behind all that waits. */
export const PARKED = 2 ** 52

/** Before any moment: it is never ready, whoever looks. */
export const BURIED = -1

/**
 * Made when an event is first carried: who keeps a ledger or letters here has no tables for it, and needs no right to make them.
 *
 * One column, `at`, says when a parcel may be taken, so that taking is a range of one index for each rank:
 *
 *   at = due             it waits, or is ready
 *   at = due + PARKED    it follows an unsettled parcel with its order key
 *   at = BURIED          it is dead, and its letter buried: what is left holds its order key
 *   any other            it is out, and taken again if it is not settled by then
 *
 * Words that are looked for stand in columns of their own, long and odd ones by their digests; the event itself is text that no index
 * knows. `own_key` is the event's order key, `order_key` the same where its subscription keeps order for its type. `urgent`
 * is what the event itself says of it.
 *
 * Rows are written two or three times and then deleted: what is dead must be cleared away before others walk through it.
 * What is large lies apart, so that it is not written again with its row.
 */
const tables = (schema: string): string => `
CREATE TABLE ${schema}.subscription (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('subscription', 'destination')),
  service text COLLATE "C" NOT NULL,
  topic text COLLATE "C" NOT NULL,
  terms text NOT NULL,
  UNIQUE (kind, service, topic)
);
CREATE TABLE ${schema}.subscription_change (
  one smallint PRIMARY KEY CHECK (one = 1),
  count bigint NOT NULL
) WITH (fillfactor = 50);
INSERT INTO ${schema}.subscription_change VALUES (1, 1);

CREATE TABLE ${schema}.parcel (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  subscription integer NOT NULL,
  rank smallint NOT NULL,
  at bigint NOT NULL,
  due bigint NOT NULL,
  token bigint NOT NULL DEFAULT 0,
  deliveries integer NOT NULL DEFAULT 0,
  tried boolean NOT NULL,
  urgent boolean,
  generation integer NOT NULL,
  type text COLLATE "C" NOT NULL,
  own_key text COLLATE "C",
  order_key text COLLATE "C",
  event_id text COLLATE "C" NOT NULL,
  source text COLLATE "C" NOT NULL,
  letter text COLLATE "C",
  event text NOT NULL,
  trail text,
  data bytea
) WITH (toast_tuple_target = 512, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX parcel_at ON ${schema}.parcel (subscription, rank, at, id);
CREATE INDEX parcel_order ON ${schema}.parcel (subscription, order_key, id) WHERE order_key IS NOT NULL;
CREATE INDEX parcel_line ON ${schema}.parcel (subscription, event_id) WHERE order_key IS NOT NULL;

INSERT INTO ${schema}.meta VALUES ('parcels', ${PARCELS_VERSION});`

/** Any number of processes may do so at once. */
export const makeParcelTables = async (pool: Pool, schema: string): Promise<void> => {
  const known = { text: `SELECT value FROM ${schema}.meta WHERE name = 'parcels'` }
  const there = async (ask: Ask) => (await ask(known)).rows[0]?.value
  let version = await there(pool.ask)
  if (version === undefined) {
    try {
      version = await pool.transaction(async (ask) => {
        await ask({ text: `SELECT pg_advisory_xact_lock(${LOCK})` })
        if ((await there(ask)) === undefined) await ask({ text: tables(schema) })
        return there(ask)
      })
    } catch (error) {
      if (stateOf(error) !== '42501') throw error
      const fix = `let the schema's owner say: GRANT CREATE ON SCHEMA ${schema} TO <our user>; GRANT INSERT ON ${schema}.meta TO <our user>`
      const what = `the user may not create the tables for events in the schema '${schema}' (42501)`
      throw unavailable(pool.place, what, error, fix)
    }
  }
  if (Number(version) === PARCELS_VERSION) return
  throw differs(
    pool.place,
    `the events in the schema '${schema}' are of version ${version}, and this program knows ${PARCELS_VERSION}`,
    'run the same version of reprieve everywhere, or choose another schema by ?schema=',
  )
}
