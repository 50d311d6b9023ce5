import type { Finding } from '../../contracts/doctor.ts'
import { LETTERS_VERSION } from './letter-schema.ts'
import { PARCELS_VERSION } from './parcel-schema.ts'
import type { Pool } from './pool.ts'
import { VERSION } from './schema.ts'

type Found = Finding<'postgres-schema' | 'postgres-permissions'>

const RIGHTS = `
SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_class AS c WHERE c.relnamespace = n.oid AND c.relname = 'meta') AS made,
  n.oid IS NOT NULL AS there,
  has_database_privilege(current_database(), 'CREATE') AS may_create,
  n.oid IS NOT NULL AND has_schema_privilege(n.oid, 'USAGE') AS may_use,
  n.oid IS NOT NULL AND has_schema_privilege(n.oid, 'CREATE') AS may_fill,
  coalesce((SELECT has_table_privilege(c.oid, 'INSERT') FROM pg_catalog.pg_class AS c
    WHERE c.relnamespace = n.oid AND c.relname = 'meta'), false) AS may_begin
FROM (SELECT 1) AS one LEFT JOIN pg_catalog.pg_namespace AS n ON n.nspname = $1`

/** What is kept there beside a ledger and a board. */
export interface Kept {
  readonly letters: boolean
  readonly parcels: boolean
}

/** Tables that are made when they are first needed. */
interface Part {
  readonly name: string
  readonly of: string
  readonly version: number
  readonly tables: readonly string[]
}

/** Whether the schema is there, as we know it, and the user may do there what is needed: for all that is kept, or for less. */
export const ourTables = async (pool: Pool, schema: string, kept: Kept): Promise<readonly Found[]> => {
  const parts = [...(kept.letters ? [LETTERS] : []), ...(kept.parcels ? [PARCELS] : [])]
  const row = (await pool.ask({ text: RIGHTS, values: [schema] })).rows[0]!
  const where = `schema ${schema}`
  const refused = (what: string, fix: string): Found => ({
    check: 'postgres-permissions',
    level: 'wrong',
    where,
    what,
    why:
      parts.length > 0 ? 'all that is kept is in tables there' : 'the ledger and the board are tables there',
    fix,
  })
  const may: Found = {
    check: 'postgres-permissions',
    level: 'fine',
    where,
    what: 'the user may do what is needed',
  }
  if (!row.there) {
    const missing: Found = {
      check: 'postgres-schema',
      level: 'fine',
      where,
      what: 'not there yet; it will be made',
    }
    const fix = `let its owner say: CREATE SCHEMA ${schema} AUTHORIZATION <our user>`
    return [missing, row.may_create ? may : refused('the user may not create it', fix)]
  }
  if (!row.may_use) {
    const fix = `let its owner say: GRANT USAGE ON SCHEMA ${schema} TO <our user>, and the same for its tables`
    return [refused('the user may not use it', fix)]
  }
  if (!row.made) {
    const empty: Found = {
      check: 'postgres-schema',
      level: 'fine',
      where,
      what: 'empty; its tables will be made',
    }
    const fix = `let its owner say: GRANT CREATE ON SCHEMA ${schema} TO <our user>`
    return [empty, row.may_fill ? may : refused('the user may not create tables in it', fix)]
  }
  const { rows } = await pool.ask({
    text: LACKS,
    values: [schema, [...TABLES, ...parts.flatMap(({ tables }) => tables)]],
  })
  const missing = rows.map(({ right, name }) => `${right} on ${name}`)
  const grant = `let its owner say: GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO <our user>; GRANT USAGE ON ALL SEQUENCES IN SCHEMA ${schema} TO <our user>`
  const permission = missing.length === 0 ? may : refused(`the user lacks ${missing.join(', ')}`, grant)
  if (missing.includes('SELECT on meta')) return [permission]
  const versions = await versionsIn(pool, schema)
  const known = version(versions.get('schema'), VERSION, where, 'it is')
  const made = parts.filter(({ name }) => versions.has(name))
  const later = parts.filter(({ name }) => !versions.has(name))
  const found = [
    known,
    ...made.map((part) => version(versions.get(part.name), part.version, where, `its ${part.of} are`)),
    ...later.map(({ of }): Found => {
      return {
        check: 'postgres-schema',
        level: 'fine',
        where,
        what: `no ${of} yet; their tables will be made`,
      }
    }),
  ]
  if (later.length === 0 || missing.length > 0 || (row.may_fill && row.may_begin))
    return [permission, ...found]
  const what = `the user may not create the tables for ${later.map(({ of }) => of).join(' and ')} in it`
  const fix = `let its owner say: GRANT CREATE ON SCHEMA ${schema} TO <our user>; GRANT INSERT ON ${schema}.meta TO <our user>`
  return [refused(what, fix), ...found]
}

const versionsIn = async (pool: Pool, schema: string): Promise<ReadonlyMap<string, number>> => {
  const { rows } = await pool.ask({ text: `SELECT name, value FROM ${schema}.meta` })
  return new Map(rows.map(({ name, value }) => [name as string, Number(value)]))
}

const version = (there: number | undefined, known: number, where: string, is: string): Found => ({
  check: 'postgres-schema',
  where,
  ...(there === known
    ? { level: 'fine', what: `version ${there}` }
    : {
        level: 'wrong',
        what: `${is} of version ${there}, and this program knows ${known}`,
        why: 'this program refuses to use it',
        fix: 'run the same version of reprieve everywhere, or choose another schema by ?schema=',
      }),
})

/** Of tables and sequences of ours that are there; some need not be changed. */
const LACKS = `
SELECT c.relname AS name, p.name AS right
FROM pg_catalog.pg_namespace AS n JOIN pg_catalog.pg_class AS c ON c.relnamespace = n.oid
JOIN (VALUES (1, 'r', 'SELECT'), (2, 'r', 'INSERT'), (3, 'r', 'UPDATE'), (4, 'r', 'DELETE'), (5, 'S', 'USAGE'))
  AS p (place, kind, name) ON p.kind = c.relkind::text
WHERE n.nspname = $1 AND c.relname = ANY ($2::text[])
  AND (c.relname <> 'meta' OR p.place = 1) AND (c.relname <> 'audit' OR p.place <= 2)
  AND NOT CASE c.relkind WHEN 'S' THEN has_sequence_privilege(c.oid, p.name) ELSE has_table_privilege(c.oid, p.name) END
ORDER BY c.relname = 'meta' DESC, c.relname, p.place`
const TABLES = ['meta', 'ledger', 'board', 'inbox', 'outbox', 'board_version']
const LETTERS: Part = {
  name: 'letters',
  of: 'dead letters',
  version: LETTERS_VERSION,
  tables: [
    ...['letter', 'letter_group', 'letter_tally', 'letter_arrival', 'letter_death', 'letter_repair'],
    ...['operation', 'operation_item', 'operation_tally'],
    ...['audit', 'audit_head'],
  ],
}
const PARCELS: Part = {
  name: 'parcels',
  of: 'events',
  version: PARCELS_VERSION,
  tables: ['subscription', 'subscription_change', 'parcel'],
}
