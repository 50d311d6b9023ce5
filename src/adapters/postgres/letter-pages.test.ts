import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeWith } from '../../../test/services/urls.ts'
import { type Desk, deskAt } from '../../../test/stores/postgres.ts'
import type { LetterFilter } from '../../contracts/letters.ts'
import { derivedId } from '../../core/letter.ts'
import { sampleLetters } from '../../testing/letters.ts'
import { systemClock } from '../system/clock.ts'
import { systemDice } from '../system/dice.ts'
import { loadDriver } from './client.ts'
import { page } from './letter-pages.ts'
import { type Ask, openPool } from './pool.ts'
import { readUrl } from './settings.ts'

const LIVE = ['open', 'replaying', 'quarantined'] as const
const FILTERS: readonly LetterFilter[] = [
  {},
  { states: LIVE },
  { service: 'pay-svc', states: LIVE },
  { kind: 'timeout' },
  { fingerprint: 'f1-1', states: ['open'] },
  { topic: 'tasks', category: 'transient', code: 'ECONNREFUSED' },
  { ids: ['one', derivedId(['a', 7])] },
]

interface Node {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly Node[]
}

describeWith('postgres', 'a page of letters in PostgreSQL', (url) => {
  const desks: Desk[] = []
  let few: Desk
  let many: Desk
  const filled = async (count: number): Promise<Desk> => {
    const desk = await deskAt(url)
    desks.push(desk)
    const { letters } = await desk.open()
    const all = sampleLetters(count, 1_800_000_000_000, (n) => ({
      id: derivedId(['a', n]),
      fingerprint: `f1-${n % 3}`,
      service: n % 3 === 0 ? 'pay-svc' : 'mail-svc',
      kind: n % 3 === 2 ? 'timeout' : 'integration',
    }))
    for (let n = 0; n < count; n += 2000) await letters!.keep(all.slice(n, n + 2000))
    // what the server believes of the letters is what was true before: that all are open
    await desk.ask(`ANALYZE ${desk.schema}.letter`)
    // all but a few of one service were resolved long ago
    const old = all.filter(({ service }, n) => service === 'pay-svc' && n > 30)
    for (let n = 0; n < old.length; n += 2000)
      await letters!.mark(
        old.slice(n, n + 2000).map(({ id }) => ({ id, from: ['open'], to: 'resolved', at: 5 })),
      )
    return desk
  }
  beforeAll(async () => {
    few = await filled(300)
    many = await filled(20_000)
  })
  afterAll(async () => {
    for (const desk of desks) await desk.close()
  })

  /** How many letters the server looks at for a page, as it tells itself. */
  const looked = async ({ schema }: Desk, filter: LetterFilter): Promise<number> => {
    const settings = readUrl(url)
    const tools = { clock: systemClock, dice: systemDice(), journal: () => {} }
    const pool = openPool(await loadDriver(), settings, tools)
    let rows = 0
    const count = (node: Node): void => {
      const seen = node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)
      if (node['Relation Name'] === 'letter') {
        expect(node['Node Type']).toMatch(/^Index/)
        rows += seen * node['Actual Loops']
      }
      for (const each of node.Plans ?? []) count(each)
    }
    const ask: Ask = async ({ text, values }) => {
      const plan = await pool.ask({ text: `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values: values ?? [] })
      count((plan.rows[0]!['QUERY PLAN'] as { Plan: Node }[])[0]!.Plan)
      return pool.ask({ text, values: values ?? [] })
    }
    await page(ask, schema, filter, 20)
    await pool.close()
    expect(rows).toBeGreaterThan(0)
    return rows
  }

  it.each(FILTERS.map((filter) => [JSON.stringify(filter), filter] as const))(
    'looks at no more letters when there are sixty times as many: %s',
    async (_, filter) => {
      const [least, most] = [await looked(few, filter), await looked(many, filter)]
      expect(least).toBeLessThanOrEqual(200)
      expect(most).toBeLessThanOrEqual(1.2 * least)
    },
  )
})
