import { loadDriver } from '../../src/adapters/postgres/client.ts'
import { page } from '../../src/adapters/postgres/letter-pages.ts'
import { openPool } from '../../src/adapters/postgres/pool.ts'
import { readUrl } from '../../src/adapters/postgres/settings.ts'
import type { Probe } from '../harness.ts'
import { tools } from './letters.ts'
import { FILTER, few, KEPT, many, PAGE, ROWS, TIMES } from './pages.ts'
import { plainly, type Server, schemaWith } from './postgres.ts'

/** The same in PostgreSQL, as the server counts them itself. */
export const rowsProbeAt = (server: Server): Probe => ({
  name: `${TIMES} times the letters, PostgreSQL`,
  limits: { [ROWS]: 1.1, [KEPT]: 1 },
  run: async (events) => {
    const looked = Math.ceil(events * 0.1)
    const [small, large] = [await schemaWith(server, few(looked)), await schemaWith(server, many(looked))]
    return {
      [ROWS]: (await rowsReadAt(server, large)) / (await rowsReadAt(server, small)),
      [KEPT]: (await keptRowsAt(server, large)) / (await keptRowsAt(server, small)),
    }
  },
})

interface Node {
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly Node[]
}

const lettersIn = (node: Node): number => {
  const seen = (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']
  const below = (node.Plans ?? []).reduce((sum, each) => sum + lettersIn(each), 0)
  return below + (node['Relation Name'] === 'letter' ? seen : 0)
}

const rowsReadAt = async (server: Server, schema: string): Promise<number> => {
  const pool = openPool(await loadDriver(), readUrl(server.url), tools)
  let rows = 0
  await page(
    async ({ text, values = [] }) => {
      const { rows: plan } = await pool.ask({ text: `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values })
      rows += lettersIn((plan[0]!['QUERY PLAN'] as { Plan: Node }[])[0]!.Plan)
      return pool.ask({ text, values })
    },
    schema,
    FILTER,
    PAGE,
  )
  await pool.close()
  return rows
}

const keptRowsAt = (server: Server, schema: string): Promise<number> =>
  plainly(server, async (client) => {
    const count = (table: string) => `(SELECT count(*) FROM ${schema}.letter_${table})`
    const { rows } = await client.query(`SELECT ${count('group')} + ${count('tally')} AS n`)
    return Number(rows[0].n)
  })
