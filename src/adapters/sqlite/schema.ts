/**
 * Everything Reprieve keeps in the file, made in one step. The names begin with `reprieve_` and the version
 * stands in a table of ours, because the file may be the user's own: `user_version` is left to them.
 */
export const VERSION = 2

/**
 * One column, `at`, says when a parcel may be taken, so that taking is one range of one index:
 *
 *   at = due             it waits, or is ready
 *   at = due + PARKED    it follows an unsettled parcel with its order key
 *   at = BURIED          it is dead, and its letter buried: what is left holds its order key
 *   any other            it is out, and taken again if it is not settled by then
 *
 * Ids are never used twice (AUTOINCREMENT): a late settlement must not meet a new parcel under an old id.
 * The index ends in the type so that skipping types reads the index only.
 */
export const SCHEMA = `
CREATE TABLE reprieve_meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO reprieve_meta VALUES ('schema', ${VERSION}), ('subscriptions', 1);

CREATE TABLE reprieve_subscription (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL CHECK (kind IN ('subscription', 'destination')),
  service TEXT NOT NULL,
  topic TEXT NOT NULL,
  consumer_group TEXT NOT NULL,
  types TEXT NOT NULL,
  ordered INTEGER NOT NULL,
  expire INTEGER,
  UNIQUE (kind, service, topic)
) STRICT;

CREATE TABLE reprieve_parcel (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  subscription INTEGER NOT NULL,
  at INTEGER NOT NULL,
  due INTEGER NOT NULL,
  token INTEGER NOT NULL DEFAULT 0,
  deliveries INTEGER NOT NULL DEFAULT 0,
  order_key TEXT,
  event TEXT NOT NULL,
  source TEXT NOT NULL,
  type TEXT NOT NULL,
  attributes TEXT,
  headers TEXT,
  trail TEXT,
  data BLOB
) STRICT;
CREATE INDEX reprieve_parcel_at ON reprieve_parcel (subscription, at, id, type);
CREATE INDEX reprieve_parcel_order ON reprieve_parcel (subscription, order_key, id) WHERE order_key IS NOT NULL;
CREATE INDEX reprieve_parcel_line ON reprieve_parcel (subscription, event) WHERE order_key IS NOT NULL;

CREATE TABLE reprieve_ledger (
  service TEXT NOT NULL,
  id TEXT NOT NULL,
  hash TEXT NOT NULL,
  state INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  token INTEGER NOT NULL,
  until INTEGER NOT NULL,
  crashes INTEGER NOT NULL,
  begun INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (service, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE reprieve_board (
  entry TEXT PRIMARY KEY,
  value TEXT NOT NULL,
  version INTEGER NOT NULL,
  until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX reprieve_board_until ON reprieve_board (until);

CREATE TABLE reprieve_letter (
  id TEXT PRIMARY KEY,
  buried_at INTEGER NOT NULL,
  service TEXT NOT NULL,
  topic TEXT NOT NULL,
  category TEXT NOT NULL,
  kind TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  state TEXT NOT NULL,
  state_at INTEGER NOT NULL,
  type TEXT NOT NULL,
  envelope BLOB NOT NULL
) STRICT;
CREATE INDEX reprieve_letter_age ON reprieve_letter (buried_at, id);
CREATE INDEX reprieve_letter_service ON reprieve_letter (service, buried_at, id);
CREATE INDEX reprieve_letter_fingerprint ON reprieve_letter (fingerprint, buried_at, id);
CREATE INDEX reprieve_letter_state ON reprieve_letter (state, buried_at, id);
`

/** From each older version to the next. */
export const UPGRADES: Readonly<Record<number, string>> = {
  1: 'ALTER TABLE reprieve_ledger ADD COLUMN begun INTEGER NOT NULL DEFAULT 0',
}

/** Larger than any moment that is kept, so that what is parked sorts behind all that waits. */
export const PARKED = 2 ** 52

/** Before any moment: it is never ready, whoever looks. */
export const BURIED = -1
