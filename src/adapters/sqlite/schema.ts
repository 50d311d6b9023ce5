import { ARRIVALS_KEPT, MOST_ERROR, SLOT } from '../../core/group.ts'
import { RANK_ALL, RANKS } from './ranks.ts'

/**
 * Everything Reprieve keeps in the file, made in one step. The names begin with `reprieve_` and the version
 * stands in a table of ours, because the file may be the user's own: `user_version` is left to them.
 */
export const VERSION = 6

/**
 * A mark rewrites the letter's row, and two places in indexes: so it holds only what is looked for, and `outline`, which
 * is asked before a letter is sent (null: of an older version, or named as no column can hold it; then its envelope has
 * what its event carries, too). All else lies apart, is never rewritten, and goes when its letter goes.
 */
const lettersNamed = (name: string) => `
CREATE TABLE ${name} (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  buried_at INTEGER NOT NULL,
  service TEXT NOT NULL,
  topic TEXT NOT NULL,
  category TEXT NOT NULL,
  kind TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  state TEXT NOT NULL,
  state_at INTEGER NOT NULL,
  type TEXT NOT NULL,
  event_type TEXT NOT NULL,
  code TEXT NOT NULL,
  outline TEXT
) STRICT;`
/** What the event carries is read when it is sent, all else when an operator looks: each where the other is not in the way. */
const ENVELOPES = `
CREATE TABLE reprieve_content (letter INTEGER PRIMARY KEY, headers TEXT, data BLOB) STRICT;
CREATE TABLE reprieve_envelope (letter INTEGER PRIMARY KEY, envelope BLOB NOT NULL) STRICT;`
const ENVELOPES_GO = `
CREATE TRIGGER reprieve_envelope_gone AFTER DELETE ON reprieve_letter BEGIN
  DELETE FROM reprieve_envelope WHERE letter = OLD.number;
  DELETE FROM reprieve_content WHERE letter = OLD.number;
END;
`
const BY_TIME = `
CREATE INDEX reprieve_letter_age ON reprieve_letter (buried_at, id);
CREATE INDEX reprieve_letter_state ON reprieve_letter (state, buried_at, id);
`
const BY_GROUP = `
CREATE INDEX reprieve_letter_fingerprint ON reprieve_letter (fingerprint, state, buried_at, id);
`

/**
 * What is kept about groups of letters, so that nobody counts letters to show it. `tally` has a row for letters alike in
 * all it names ('' is no code); `arrival` one for each five minutes in which letters of a group were buried.
 */
const GROUPS = `
${BY_GROUP}
CREATE TABLE reprieve_letter_group (
  fingerprint TEXT PRIMARY KEY,
  first_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  sample TEXT NOT NULL,
  error TEXT NOT NULL,
  resolved_at INTEGER,
  regressed_at INTEGER,
  tended_at INTEGER,
  owner TEXT,
  note TEXT,
  ticket TEXT,
  snoozed_until INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX reprieve_letter_group_last ON reprieve_letter_group (last_at);

CREATE TABLE reprieve_letter_tally (
  fingerprint TEXT NOT NULL,
  state TEXT NOT NULL,
  service TEXT NOT NULL,
  topic TEXT NOT NULL,
  event_type TEXT NOT NULL,
  category TEXT NOT NULL,
  kind TEXT NOT NULL,
  code TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (fingerprint, state, service, topic, event_type, category, kind, code)
) STRICT, WITHOUT ROWID;

CREATE TABLE reprieve_letter_arrival (
  slot INTEGER NOT NULL,
  fingerprint TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (slot, fingerprint)
) STRICT, WITHOUT ROWID;
`

/**
 * What an event carries lies apart from its parcel: taking and putting off rewrite the parcel's row, and it would be
 * rewritten with it, however large it is. It goes when its parcel goes.
 */
const DATA = `
CREATE TABLE reprieve_data (parcel INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
CREATE TRIGGER reprieve_parcel_gone AFTER DELETE ON reprieve_parcel BEGIN
  DELETE FROM reprieve_data WHERE parcel = OLD.id;
END;
`

const BY_RANK = 'CREATE INDEX reprieve_parcel_at ON reprieve_parcel (subscription, rank, at, id, type);'

/**
 * One column, `at`, says when a parcel may be taken, so that taking is a range of one index for each rank:
 *
 *   at = due             it waits, or is ready
 *   at = due + PARKED    it follows an unsettled parcel with its order key
 *   at = BURIED          it is dead, and its letter buried: what is left holds its order key
 *   any other            it is out, and taken again if it is not settled by then
 *
 * Ids are never used twice (AUTOINCREMENT): a late settlement must not meet a new parcel under an old id.
 * The index ends in the type so that skipping types reads the index only. It begins with the rank, so that fresh parcels are found
 * behind any number of retries.
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
  rank INTEGER NOT NULL DEFAULT ${RANKS.fresh},
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
  trail TEXT
) STRICT;
${BY_RANK}
CREATE INDEX reprieve_parcel_order ON reprieve_parcel (subscription, order_key, id) WHERE order_key IS NOT NULL;
CREATE INDEX reprieve_parcel_line ON reprieve_parcel (subscription, event) WHERE order_key IS NOT NULL;
${DATA}
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

${lettersNamed('reprieve_letter')}
${ENVELOPES}
${ENVELOPES_GO}
${BY_TIME}
${GROUPS}`

/** What letters of before tell of their groups. Whether one came back is known only from now on. */
const TO_GROUPS = `
ALTER TABLE reprieve_letter ADD COLUMN event_type TEXT NOT NULL DEFAULT '';
ALTER TABLE reprieve_letter ADD COLUMN code TEXT NOT NULL DEFAULT '';
UPDATE reprieve_letter SET
  event_type = coalesce(json_extract(CAST(envelope AS TEXT), '$.originalMessage.type'), ''),
  code = coalesce(json_extract(CAST(envelope AS TEXT), '$.errorCode'), ''),
  state = CASE WHEN state = 'open' AND json_extract(CAST(envelope AS TEXT), '$.reason') = 'poison'
    THEN 'quarantined' ELSE state END;
DROP INDEX reprieve_letter_service;
DROP INDEX reprieve_letter_fingerprint;
${GROUPS}
INSERT INTO reprieve_letter_tally
  SELECT fingerprint, state, service, topic, event_type, category, kind, code, count(*)
  FROM reprieve_letter GROUP BY 1, 2, 3, 4, 5, 6, 7, 8;
INSERT INTO reprieve_letter_group (fingerprint, first_at, last_at, resolved_at, sample, error)
  SELECT fingerprint, min(buried_at), max(buried_at),
    (SELECT max(state_at) FROM reprieve_letter done
      WHERE done.fingerprint = letter.fingerprint AND done.state = 'resolved'),
    (SELECT id FROM reprieve_letter newest WHERE newest.fingerprint = letter.fingerprint
      ORDER BY buried_at DESC, id DESC LIMIT 1),
    ''
  FROM reprieve_letter letter GROUP BY fingerprint;
UPDATE reprieve_letter_group SET error =
  (SELECT coalesce(substr(json_extract(CAST(envelope AS TEXT), '$.error'), 1, ${MOST_ERROR}), '')
    FROM reprieve_letter WHERE id = sample);
INSERT INTO reprieve_letter_arrival
  SELECT buried_at / ${SLOT} * ${SLOT}, fingerprint, count(*) FROM reprieve_letter
  WHERE buried_at > (SELECT max(buried_at) FROM reprieve_letter) - ${ARRIVALS_KEPT} GROUP BY 1, 2;
`

const TO_DATA_APART = `
${DATA}
INSERT INTO reprieve_data SELECT id, data FROM reprieve_parcel WHERE data IS NOT NULL;
ALTER TABLE reprieve_parcel DROP COLUMN data;
`

const SAME = `
id, buried_at, service, topic, category, kind, fingerprint, state, state_at, type, event_type, code`
const TO_ENVELOPES_APART = `
${lettersNamed('reprieve_letter_anew')}
INSERT INTO reprieve_letter_anew (number, ${SAME}) SELECT rowid, ${SAME} FROM reprieve_letter;
${ENVELOPES}
INSERT INTO reprieve_envelope (letter, envelope) SELECT rowid, envelope FROM reprieve_letter;
DROP TABLE reprieve_letter;
ALTER TABLE reprieve_letter_anew RENAME TO reprieve_letter;
${ENVELOPES_GO}
${BY_TIME}
${BY_GROUP}`

const TO_RANKS = `
DROP INDEX reprieve_parcel_at;
ALTER TABLE reprieve_parcel ADD COLUMN rank INTEGER NOT NULL DEFAULT ${RANKS.fresh};
${RANK_ALL};
${BY_RANK}`

/** From each older version to the next. */
export const UPGRADES: Readonly<Record<number, string>> = {
  1: 'ALTER TABLE reprieve_ledger ADD COLUMN begun INTEGER NOT NULL DEFAULT 0',
  2: TO_GROUPS,
  3: TO_DATA_APART,
  4: TO_ENVELOPES_APART,
  5: TO_RANKS,
}

/** Larger than any moment that is kept, so that what is parked sorts behind all that waits. */
export const PARKED = 2 ** 52

/** Before any moment: it is never ready, whoever looks. */
export const BURIED = -1
