import { operationTables } from './operation-schema.ts'
import type { Ask, Pool } from './pool.ts'
import { LOCK } from './schema.ts'
import { differs, stateOf, unavailable } from './trouble.ts'

export const LETTERS_VERSION = 4

/**
 * A mark writes the letter's row anew: what is large and never changed is put apart by the server, from a size on, so
 * that the row stays small.
 */
const apart = (schema: string): string => `
ALTER TABLE ${schema}.letter SET (toast_tuple_target = 1024);`

/** From each older version to the next. A letter without an outline is read whole. */
const UPGRADES: Readonly<Record<number, (schema: string) => string>> = {
  1: (schema) => `
ALTER TABLE ${schema}.letter ADD COLUMN outline text, ADD COLUMN headers text, ADD COLUMN data bytea;
${apart(schema)}
UPDATE ${schema}.meta SET value = 2 WHERE name = 'letters';`,
  // in which version of its letter an item was frozen
  2: (schema) => `
ALTER TABLE ${schema}.operation_item ADD COLUMN IF NOT EXISTS repair text NOT NULL DEFAULT '';
UPDATE ${schema}.meta SET value = 3 WHERE name = 'letters';`,
  // an item says itself that it holds its letter, and what becomes of it is written in place
  3: (schema) => `
ALTER TABLE ${schema}.operation_item ADD COLUMN held boolean NOT NULL DEFAULT false;
ALTER TABLE ${schema}.operation_item SET (fillfactor = 50);
DROP INDEX ${schema}.operation_item_state;
UPDATE ${schema}.operation_item AS i SET held = true FROM ${schema}.operation_hold AS h
  WHERE i.operation = h.operation AND i.place = h.place;
CREATE UNIQUE INDEX operation_item_held ON ${schema}.operation_item (letter) WHERE held;
DROP TABLE ${schema}.operation_hold;
UPDATE ${schema}.meta SET value = 4 WHERE name = 'letters';`,
}

/**
 * Dead letters and the audit, made when they are first used: who keeps only a ledger here has no tables for them, and
 * needs no right to make them.
 *
 * Whoever changes letters locks in one order: the letters by their ids, then operations by their numbers, what they hold
 * by its letters, then groups by their fingerprints, deaths by their digests, and the audit. Tallies and arrivals are changed by who holds their group's row, and need no locks of their own.
 *
 * Letters lie in the order of their burial in two indexes, by state and by group and state. The server would choose between
 * them by what it believes of how values go together, and walk through all letters for a page where it errs: so one has
 * the time as it is and the other as a sum, and whoever asks for an order has named the index.
 *
 * A tally has a row for letters alike in all it names; as that may be more than an index takes, it is known by its
 * digest. The audit's triggers are against accidents: the owner of the tables may drop them, and is found by the hashes.
 */
const tables = (schema: string): string => `
CREATE TABLE ${schema}.letter (
  id text COLLATE "C" PRIMARY KEY,
  buried_at bigint NOT NULL,
  service text COLLATE "C" NOT NULL,
  topic text COLLATE "C" NOT NULL,
  event_type text COLLATE "C" NOT NULL,
  category text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  code text COLLATE "C" NOT NULL,
  fingerprint text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL,
  state_at bigint NOT NULL,
  outline text,
  headers text,
  data bytea,
  envelope bytea NOT NULL
);
${apart(schema)}
CREATE INDEX letter_state ON ${schema}.letter (state, (buried_at + 0), id);
CREATE INDEX letter_fingerprint ON ${schema}.letter (fingerprint, state, buried_at, id);

CREATE TABLE ${schema}.letter_group (
  fingerprint text COLLATE "C" PRIMARY KEY,
  first_at bigint NOT NULL,
  last_at bigint NOT NULL,
  sample text NOT NULL,
  error text NOT NULL,
  resolved_at bigint,
  regressed_at bigint,
  tended_at bigint,
  owner text,
  note text,
  ticket text,
  snoozed_until bigint
) WITH (fillfactor = 70);

CREATE TABLE ${schema}.letter_tally (
  fingerprint text COLLATE "C" NOT NULL,
  digest text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL,
  service text COLLATE "C" NOT NULL,
  topic text COLLATE "C" NOT NULL,
  event_type text COLLATE "C" NOT NULL,
  category text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  code text COLLATE "C" NOT NULL,
  count bigint NOT NULL,
  PRIMARY KEY (fingerprint, digest)
) WITH (fillfactor = 70);

CREATE TABLE ${schema}.letter_arrival (
  slot bigint NOT NULL,
  fingerprint text COLLATE "C" NOT NULL,
  count bigint NOT NULL,
  PRIMARY KEY (slot, fingerprint)
) WITH (fillfactor = 70);
CREATE INDEX letter_arrival_of ON ${schema}.letter_arrival (fingerprint, slot);

CREATE TABLE ${schema}.letter_death (
  digest text COLLATE "C" PRIMARY KEY,
  service text NOT NULL,
  topic text NOT NULL,
  event_type text NOT NULL,
  letters bigint NOT NULL,
  retries bigint NOT NULL
) WITH (fillfactor = 70);

CREATE TABLE ${schema}.letter_repair (
  letter text COLLATE "C" NOT NULL,
  version integer NOT NULL,
  repair text NOT NULL,
  PRIMARY KEY (letter, version)
);
${operationTables(schema)}

CREATE TABLE ${schema}.audit (
  seq bigint PRIMARY KEY,
  at bigint NOT NULL,
  who text NOT NULL,
  act text NOT NULL,
  target text NOT NULL,
  count bigint NOT NULL,
  reason text,
  details text NOT NULL,
  previous text NOT NULL,
  hash text NOT NULL
);
CREATE TABLE ${schema}.audit_head (
  one smallint PRIMARY KEY CHECK (one = 1),
  count bigint NOT NULL,
  hash text NOT NULL
);
CREATE FUNCTION ${schema}.audit_refuses() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN RAISE EXCEPTION 'the audit is append-only'; END $$;
CREATE TRIGGER audit_unchanged BEFORE UPDATE OR DELETE ON ${schema}.audit
  FOR EACH ROW EXECUTE FUNCTION ${schema}.audit_refuses();
CREATE TRIGGER audit_whole BEFORE TRUNCATE ON ${schema}.audit
  FOR EACH STATEMENT EXECUTE FUNCTION ${schema}.audit_refuses();

INSERT INTO ${schema}.meta VALUES ('letters', ${LETTERS_VERSION});`

/** Any number of processes may do so at once. */
export const makeLetterTables = async (pool: Pool, schema: string): Promise<void> => {
  const known = { text: `SELECT value FROM ${schema}.meta WHERE name = 'letters'` }
  const there = async (ask: Ask): Promise<number> => Number((await ask(known)).rows[0]!.value)
  let version = (await pool.ask(known)).rows[0]?.value
  if (version === undefined || UPGRADES[Number(version)]) {
    try {
      version = await pool.transaction(async (ask) => {
        await ask({ text: `SELECT pg_advisory_xact_lock(${LOCK})` })
        if ((await ask(known)).rows.length === 0) await ask({ text: tables(schema) })
        for (let from = await there(ask); UPGRADES[from]; from++) await ask({ text: UPGRADES[from]!(schema) })
        return there(ask)
      })
    } catch (error) {
      if (stateOf(error) !== '42501') throw error
      const fix = `let the schema's owner say: GRANT CREATE ON SCHEMA ${schema} TO <our user>; GRANT INSERT ON ${schema}.meta TO <our user>`
      const what = `the user may not create the tables for dead letters in the schema '${schema}' (42501)`
      throw unavailable(pool.place, what, error, fix)
    }
  }
  if (Number(version) === LETTERS_VERSION) return
  throw differs(
    pool.place,
    `the dead letters in the schema '${schema}' are of version ${version}, and this program knows ${LETTERS_VERSION}`,
    'run the same version of reprieve everywhere, or choose another schema by ?schema=',
  )
}
