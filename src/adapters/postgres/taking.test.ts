import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeWith } from '../../../test/services/urls.ts'
import { type Desk, deskAt } from '../../../test/stores/postgres.ts'
import { freshTrail } from '../../core/trail.ts'
import { systemDice } from '../system/dice.ts'
import { ackAll } from './acking.ts'
import { loadDriver, type Statement } from './client.ts'
import { doorOf } from './doors.ts'
import { endWithin } from './ending.ts'
import { HANDLE } from './holding.ts'
import { openPool } from './pool.ts'
import { makeReady, type Ready } from './ready.ts'
import { rowStatements } from './rows.ts'
import { readUrl } from './settings.ts'
import { looking, takingSome } from './taking.ts'

const WAITING = 100_000
/** Pages of the index and of the table for ten rows of each rank, their place in each of the indexes, and then some. */
const FEW = 600

describeWith('postgres', 'taking from PostgreSQL among many that wait', (url) => {
  let desk: Desk
  beforeAll(async () => {
    desk = await deskAt(url)
    const { companion } = await desk.open()
    await (await companion!.collect({ name: 'first' })).close()
    // what the server knows of the table is of when it was empty
    await desk.ask(`ANALYZE ${desk.schema}.parcel, ${desk.schema}.ledger`)
    for (const table of ['parcel', 'ledger'])
      await desk.ask(`ALTER TABLE ${desk.schema}.${table} SET (autovacuum_enabled = off)`)
    await desk.ask(`INSERT INTO ${desk.schema}.ledger
      (service, id, hash, state, generation, attempt, crashes, token, until, holder)
      SELECT 's', n, 'h', 0, 0, 1, 0, 1, ${WAITING}, 'me' FROM generate_series(1, ${WAITING}) AS n`)
    await desk.ask(`INSERT INTO ${desk.schema}.parcel
      (subscription, rank, at, due, tried, generation, type, event_id, source, event)
      SELECT 1 + n % 3, n % 2, n, n, false, 0, 'made', n, 's', '{}' FROM generate_series(1, ${WAITING}) AS n`)
  })
  afterAll(() => desk.close())

  /** With the plan made for these values, and with one that was made for any. */
  const pagesFor = async ({ text, values }: Statement, plans: string): Promise<number> => {
    const at = new URL(url)
    const tools = { clock: desk.clock, dice: systemDice(), journal: () => {} }
    const pool = openPool(await loadDriver(), readUrl(at.href), tools)
    try {
      return await pool.transaction(async (ask) => {
        await ask({ text: `SET LOCAL plan_cache_mode = ${plans}` })
        const explain = `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`
        const { rows } = await ask({ text: explain, ...(values && { values }) })
        const [{ Plan: plan }] = rows[0]!['QUERY PLAN'] as [{ Plan: Record<string, number> }]
        expect(JSON.stringify(plan)).not.toContain('Seq Scan')
        return plan['Shared Hit Blocks']! + plan['Shared Read Blocks']!
      })
    } finally {
      await pool.close()
    }
  }

  it.each(['force_custom_plan', 'force_generic_plan'])(
    'reads no more than what it takes, by %s',
    async (plans) => {
      const door = doorOf(2, 'subscription', JSON.stringify({ topic: 't', types: ['*'] }))
      const turns = { window: 100, retrying: 0, passed: 0 }
      const wish = { max: 10, turns, now: WAITING, until: WAITING + 1000, passing: [] }
      expect(await pagesFor(looking(desk.schema, door, wish), plans)).toBeLessThan(50)
      expect(await pagesFor(takingSome(desk.schema, door, wish), plans)).toBeLessThan(FEW)
    },
  )

  it.each(['force_custom_plan', 'force_generic_plan'])(
    'settling reads no more than what it settles, by %s',
    async (plans) => {
      const ids = Array.from({ length: 10 }, (_, n) => String(n * 3000 + 1))
      const helds = ids.map((id) => ({
        key: { service: 's', id, hash: 'h', attempt: 1, generation: 0, ttl: 1000 },
        token: 1,
      }))
      const { renew, lock, acquit } = rowStatements(desk.schema)
      const names = ids.map((id) => ({ service: 's', id }))
      for (const statement of [renew(helds, 1), lock(names), acquit(helds)])
        expect(await pagesFor(statement, plans)).toBeLessThan(FEW)
      const event = { id: 'e', source: 's', type: 'made', extensions: {}, headers: {}, data: null }
      const batch = helds.map((held, n) => {
        const delivery = {
          parcel: { event, trail: freshTrail, due: 0 },
          redelivered: false,
          claim: { is: 'fresh', held, crashes: 0 } as const,
          [HANDLE]: { id: ids[n]!, token: 0, rank: 0, until: 0 },
        }
        return makeReady({ do: 'ack', delivery }) as Ready
      })
      const asked: Statement[] = []
      const ask = async (statement: Statement) => {
        asked.push(statement)
        return { rows: [], rowCount: 0 }
      }
      await ackAll(ask, desk.schema, batch, WAITING)
      await endWithin(
        ask,
        rowStatements(desk.schema),
        helds.map((held) => ({ held, as: 'done' })),
        WAITING,
      )
      for (const statement of asked) expect(await pagesFor(statement, plans)).toBeLessThan(FEW)
    },
  )
})
