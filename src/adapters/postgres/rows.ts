import { BELIEVED, type Held, type LedgerRow } from '../../core/ledger.ts'
import type { Instant } from '../../core/time.ts'
import type { Result, Statement } from './client.ts'
import { type Name, nameOf } from './keys.ts'

/** A row as it is to be kept. */
export interface Kept {
  readonly name: Name
  readonly row: LedgerRow
}

/** A row as it was found, with the name of the claim that wrote it last. */
export interface HeldRow extends LedgerRow {
  readonly holder: string
}

/** The statements on the ledger's rows: each for any number of them, as arrays, in the order they are given. */
export interface RowStatements {
  insertAllOrNone(rows: readonly Kept[], holder: string): Statement
  /** Answers with the names of those that were new. */
  insertNew(rows: readonly Kept[], holder: string): Statement
  lock(names: readonly Name[]): Statement
  update(rows: readonly Kept[], holder: string): Statement
  /** Answers with one row where its token was the current one. */
  begin(held: Held): Statement
  renew(held: readonly Held[], until: Instant): Statement
  /** Answers with the names of those from which a crash was taken back: `acquitRow` as a statement. */
  acquit(held: readonly Held[]): Statement
  /** Answers with name and token of those whose token was the current one. Crashes: 1 keeps those of who was not begun. */
  finish(rows: readonly Kept[]): Statement
  read(row: Result['rows'][number]): HeldRow
}

const STATES = ['claimed', 'free', 'done', 'dead'] as const

const COLUMNS = 'service, id, hash, state, generation, attempt, crashes, token, until'
const GIVEN = `
unnest($1::text[], $2::text[], $3::text[], $4::smallint[], $5::integer[], $6::integer[], $7::integer[],
  $8::bigint[], $9::bigint[]) WITH ORDINALITY AS g(${COLUMNS}, place)`
const NAMES = 'unnest($1::text[], $2::text[]) AS g(service, id)'
const HELD = 'unnest($1::text[], $2::text[], $3::bigint[]) AS g(service, id, token)'
const RETURNED = `
unnest($1::text[], $2::text[], $3::bigint[], $4::integer[], $5::integer[])
  AS g(service, id, token, generation, attempt)`
const SAME = 'l.service = g.service AND l.id = g.id'
const OURS = `${SAME} AND l.token = g.token AND l.state = 0`

export const rowStatements = (schema: string): RowStatements => {
  const ledger = `${schema}.ledger`
  const insert = `INSERT INTO ${ledger} (${COLUMNS}, holder) SELECT ${COLUMNS}, $10 FROM ${GIVEN}`
  /**
   * One by one, in the order in which they are given, which is that of their names. Asked to sort them, the server would
   * rather walk through the whole ledger in that order.
   */
  const eachLocked = (what: string, which: string) =>
    `CROSS JOIN LATERAL (SELECT ${what} FROM ${ledger} AS l WHERE ${which} FOR UPDATE) AS l`
  /** Locks before it writes. */
  const locked = (given: string) => `mine AS MATERIALIZED (SELECT 1 FROM ${given} ${eachLocked('1', OURS)})`
  const texts = {
    insertAllOrNone: `${insert}
      WHERE NOT EXISTS (SELECT 1 FROM ${NAMES.replace('g(', 'k(')} JOIN ${ledger} AS l ON ${SAME.replaceAll('g.', 'k.')})
      ORDER BY place`,
    insertNew: `${insert} ORDER BY place ON CONFLICT DO NOTHING RETURNING service, id`,
    lock: `SELECT l.* FROM ${NAMES} ${eachLocked('*', SAME)}`,
    update: `UPDATE ${ledger} AS l SET hash = g.hash, state = g.state, generation = g.generation,
        attempt = g.attempt, crashes = g.crashes, token = g.token, until = g.until,
        holder = $10, begun = false
      FROM ${GIVEN} WHERE ${SAME}`,
    begin: `UPDATE ${ledger} SET begun = true
      WHERE service = $1 AND id = $2 AND token = $3 AND state = 0 RETURNING token`,
    renew: `WITH ${locked(HELD)} UPDATE ${ledger} AS l SET until = $4
      FROM ${HELD} WHERE (SELECT count(*) FROM mine) > 0 AND ${OURS}`,
    acquit: `WITH mine AS MATERIALIZED (
        SELECT l.service, l.id FROM ${RETURNED} ${eachLocked(
          'service, id',
          `${SAME} AND l.generation = g.generation AND l.crashes > 0 AND l.token > g.token
            AND l.token <= g.attempt + ${BELIEVED}
            AND ((l.state = 0 AND l.attempt = g.attempt) OR (l.state = 1 AND l.attempt = g.attempt - 1))`,
        )})
      UPDATE ${ledger} AS l SET crashes = l.crashes - 1 FROM mine AS g WHERE ${SAME} RETURNING l.service, l.id`,
    finish: `WITH ${locked(GIVEN)} UPDATE ${ledger} AS l
      SET state = g.state, attempt = g.attempt, until = g.until,
        crashes = l.crashes * g.crashes
      FROM ${GIVEN} WHERE (SELECT count(*) FROM mine) > 0 AND ${OURS}
      RETURNING l.service, l.id, l.token`,
  }
  const named = (text: keyof typeof texts, values: readonly unknown[]): Statement => ({
    name: `reprieve ${schema} ${text}`,
    text: texts[text],
    values,
  })
  return {
    insertAllOrNone: (rows, holder) => named('insertAllOrNone', [...columnsOf(rows), holder]),
    insertNew: (rows, holder) => named('insertNew', [...columnsOf(rows), holder]),
    lock: (names) => named('lock', [names.map(({ service }) => service), names.map(({ id }) => id)]),
    update: (rows, holder) => named('update', [...columnsOf(rows), holder]),
    begin: ({ key, token }) => {
      const { service, id } = nameOf(key)
      return named('begin', [service, id, token])
    },
    renew: (held, until) => {
      const names = held.map(({ key }) => nameOf(key))
      return named('renew', [
        names.map(({ service }) => service),
        names.map(({ id }) => id),
        held.map(({ token }) => token),
        until,
      ])
    },
    acquit: (held) => {
      const names = held.map(({ key }) => nameOf(key))
      return named('acquit', [
        names.map(({ service }) => service),
        names.map(({ id }) => id),
        held.map(({ token }) => token),
        held.map(({ key }) => key.generation),
        held.map(({ key }) => key.attempt),
      ])
    },
    finish: (rows) => named('finish', columnsOf(rows)),
    read: (row) => ({
      holder: row.holder as string,
      hash: row.hash as string,
      state: STATES[row.state as number]!,
      generation: row.generation as number,
      attempt: row.attempt as number,
      crashes: row.crashes as number,
      begun: row.begun as boolean,
      // the client reads whole numbers of eight bytes as text
      token: Number(row.token),
      until: Number(row.until),
    }),
  }
}

const columnsOf = (rows: readonly Kept[]): readonly (readonly unknown[])[] => [
  rows.map(({ name }) => name.service),
  rows.map(({ name }) => name.id),
  rows.map(({ row }) => row.hash),
  rows.map(({ row }) => STATES.indexOf(row.state)),
  rows.map(({ row }) => row.generation),
  rows.map(({ row }) => row.attempt),
  rows.map(({ row }) => row.crashes),
  rows.map(({ row }) => row.token),
  rows.map(({ row }) => row.until),
]
