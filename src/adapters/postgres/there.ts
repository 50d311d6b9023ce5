import type { WhyNoAudit } from '../../contracts/adapter.ts'
import { loadDriver } from './client.ts'
import { openPool } from './pool.ts'
import { readUrl } from './settings.ts'

const TABLES = `
SELECT n.nspname AS schema, c.relname AS name FROM pg_catalog.pg_class AS c
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname IN ('meta', 'audit')`
const SCHEMAS = `
SELECT n.nspname AS schema FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relname = 'audit_head' ORDER BY n.nspname LIMIT 5`

/** Looks at the catalogue alone: a schema that is not there is not made. */
export const whyNoAudit: WhyNoAudit = async (url, tools) => {
  const settings = readUrl(url)
  const { schema, place } = settings
  const pool = openPool(await loadDriver(), settings, tools)
  try {
    const tables = (await pool.ask({ text: TABLES, values: [schema] })).rows.map(({ name }) => name)
    if (tables.includes('audit')) return undefined
    const others = (await pool.ask({ text: SCHEMAS })).rows.map((row) => String(row.schema))
    const what = tables.includes('meta')
      ? `the schema '${schema}' keeps a ledger and a board, no dead letters`
      : `the schema '${schema}' has no tables of ours`
    const known = others.length > 0 ? `; this database has one in ?schema=${others.join(', ?schema=')}` : ''
    return {
      is: 'new',
      what: `PostgreSQL at ${place}: ${what}`,
      fix: `name the store that the app uses, like --store postgres://host/database?schema=reprieve${known}`,
    }
  } finally {
    await pool.close()
  }
}
