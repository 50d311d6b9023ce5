import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeWith } from '../../../test/services/urls.ts'
import { acts, doBoth } from '../../../test/stores/model.ts'
import { type Desk, deskAt } from '../../../test/stores/postgres.ts'
import type { Claim, Held, LedgerKey } from '../../core/ledger.ts'
import { systemDice } from '../system/dice.ts'
import { loadDriver } from './client.ts'
import { forgettingIn } from './forgetting.ts'
import { openPool } from './pool.ts'
import { readUrl } from './settings.ts'

describeWith('postgres', 'the ledger in PostgreSQL', (url) => {
  let desk: Desk
  beforeAll(async () => {
    desk = await deskAt(url)
  })
  afterAll(() => desk.close())

  it('answers what claimRow and finishRow say, whatever was asked before', async () => {
    const { ledger } = await desk.open()
    await fc.assert(
      fc.asyncProperty(acts, async (script) => {
        const said = await doBoth(ledger, desk.name('service'), script, desk.clock)
        expect(said.real).toEqual(said.model)
      }),
    )
  })

  it('lets many claim the same keys at once, in any order, and each key goes to one', async () => {
    const ledgers = await Promise.all([1, 2, 3].map(async () => (await desk.open({ pool: '3' })).ledger))
    const service = desk.name('crowd')
    const ids = Array.from({ length: 60 }, (_, n) => `e-${n}`)
    const owned = new Map<string, number>()
    const known = ids.slice(0, 20).map((id) => keyOf(service, id))
    const before = await ledgers[0]!.claim(known, desk.clock.now() + 1000)
    await ledgers[0]!.finish(
      before.flatMap((claim) => (claim.is === 'fresh' ? [{ held: claim.held, as: 'free' }] : [])),
    )
    const dice = systemDice()
    await Promise.all(
      Array.from({ length: 45 }, async (_, n) => {
        const mine = ids.filter(() => dice.next() < 0.5).sort(() => dice.next() - 0.5)
        const ledger = ledgers[n % 3]!
        const claims = await ledger.claim(
          mine.map((id) => keyOf(service, id)),
          desk.clock.now() + 1000,
        )
        const held = claims.flatMap((claim) => (claim.is === 'fresh' ? [claim.held] : []))
        for (const { key } of held) owned.set(key.id, (owned.get(key.id) ?? 0) + 1)
        await ledger.renew(held.toReversed(), desk.clock.now() + 2000)
      }),
    )
    expect([...owned.values()].filter((count) => count > 1)).toEqual([])
    expect(owned.size).toBe(60)
  })

  it('drops what may be forgotten, and nothing else', async () => {
    const { ledger } = await desk.open()
    const service = desk.name('old')
    const claim = async (id: string, ttl: number): Promise<Held> => {
      const [claimed] = await ledger.claim([{ ...keyOf(service, id), ttl }], desk.clock.now() + 1000)
      return (claimed as Extract<Claim, { is: 'fresh' }>).held
    }
    for (const id of ['over', 'over too']) await ledger.finish([{ held: await claim(id, 100), as: 'done' }])
    await ledger.finish([{ held: await claim('kept', 20_000_000), as: 'done' }])
    await claim('claimed', 100)
    desk.clock.wait(3_600_000)
    await ledger.finish([{ held: await claim('over a moment ago', 100), as: 'done' }])
    desk.clock.wait(5000)
    const settings = readUrl(`${url}?schema=${desk.schema}`)
    const tools = { clock: desk.clock, dice: systemDice(), journal: () => {} }
    const pool = openPool(await loadDriver(), settings, tools)
    const forgetting = forgettingIn(pool, desk.schema, tools, { rows: 1, pages: 2 })
    for (let look = 0; look < 40; look++) {
      forgetting.wrote(1)
      await forgetting.idle()
    }
    await pool.close()
    const rows = await desk.ask(
      `SELECT id FROM ${desk.schema}.ledger WHERE service = '${service}' ORDER BY id`,
    )
    expect(rows.map(({ id }) => id)).toEqual(['claimed', 'kept', 'over a moment ago'])
  })

  it('clears away by itself while it is used', async () => {
    const { ledger, close } = await desk.open()
    const service = desk.name('busy')
    for (let round = 0; round < 4; round++) {
      const keys = Array.from({ length: 500 }, (_, n) => ({ ...keyOf(service, `${round}-${n}`), ttl: 100 }))
      const claims = await ledger.claim(keys, desk.clock.now() + 1000)
      await ledger.finish(claims.map((claim) => ({ held: (claim as { held: Held }).held, as: 'done' })))
      desk.clock.wait(4_000_000)
    }
    await close()
    const [row] = await desk.ask(
      `SELECT count(*)::int AS n FROM ${desk.schema}.ledger WHERE service = '${service}'`,
    )
    expect(row!.n).toBeLessThan(2000)
  })
})

const keyOf = (service: string, id: string): LedgerKey => ({
  service,
  id,
  hash: 'h',
  attempt: 1,
  generation: 0,
  ttl: 60_000,
})
