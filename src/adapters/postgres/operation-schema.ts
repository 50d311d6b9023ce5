/**
 * Operations on letters, made with them. An item that is `held` says which operation has a letter, or had it last: the
 * hold of one that is over is taken over by the next, so that to end an operation of a million letters is one row.
 *
 * No index knows the state of an item, and half of each page is left empty: so a change of state is written in place. Where
 * work goes on is known from the place that was reached.
 *
 * Whoever holds an operation's row changes its items and tallies; they need no locks of their own. `name` is the
 * letter's id where an index could not take it.
 */
export const operationTables = (schema: string): string => `
CREATE TABLE ${schema}.operation (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE,
  live boolean NOT NULL,
  version bigint NOT NULL,
  holder text,
  held_until bigint,
  body text NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX operation_live ON ${schema}.operation (live, id);

CREATE TABLE ${schema}.operation_item (
  operation bigint NOT NULL,
  place bigint NOT NULL,
  letter text COLLATE "C" NOT NULL,
  name text,
  state text COLLATE "C" NOT NULL,
  because text NOT NULL,
  at bigint NOT NULL,
  repair text NOT NULL DEFAULT '',
  held boolean NOT NULL DEFAULT false,
  PRIMARY KEY (operation, place)
) WITH (fillfactor = 50);
CREATE UNIQUE INDEX operation_item_held ON ${schema}.operation_item (letter) WHERE held;

CREATE TABLE ${schema}.operation_tally (
  operation bigint NOT NULL,
  state text COLLATE "C" NOT NULL,
  because text NOT NULL,
  digest text COLLATE "C" NOT NULL,
  count bigint NOT NULL,
  PRIMARY KEY (operation, digest)
) WITH (fillfactor = 70);`
