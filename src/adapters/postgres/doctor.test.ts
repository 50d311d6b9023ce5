import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeOwn, type OwnServer, ownPostgres } from '../../../test/stores/own-server.ts'
import { systemClock } from '../system/clock.ts'
import { systemDice } from '../system/dice.ts'
import { doctor, open } from './index.ts'

const tools = { clock: systemClock, dice: systemDice(), journal: () => {} }
const examine = (url: string, letters = false) => doctor.examine(url, { subscriptions: [], letters }, tools)
const told = async (url: string, letters = false) =>
  (await examine(url, letters))
    .filter(({ level }) => level !== 'fine')
    .map(({ check, level, where, what }) => `${level} ${check} ${where}: ${what}`)

describeOwn('postgres', 'the doctor of a PostgreSQL server of our own', () => {
  let own: OwnServer
  const ask = async (...statements: string[]) => {
    const client = new pg.Client({ connectionString: own.url })
    await client.connect()
    const results = []
    for (const text of statements) results.push((await client.query(text)).rows)
    await client.end()
    return results
  }
  const as = (user: string, more = ''): string => {
    const url = new URL(own.url)
    url.username = user
    url.password = 'word'
    return `${url.href}${more}`
  }
  beforeAll(async () => {
    own = await ownPostgres({ fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' })
    await ask("CREATE USER poor PASSWORD 'word'", "CREATE USER few PASSWORD 'word' CONNECTION LIMIT 9")
  })
  afterAll(() => own?.close())

  const UNSURE = [
    'risky postgres-durability fsync: off',
    'risky postgres-durability full_page_writes: off',
    'risky postgres-durability synchronous_commit: off',
  ]

  it('tells settings with which a confirmed write may be lost, and makes nothing', async () => {
    expect(await told(own.url)).toEqual(UNSURE)
    expect(new Set((await examine(own.url)).map(({ check }) => check))).toEqual(new Set(doctor.checks))
    expect(await ask("SELECT 1 FROM pg_namespace WHERE nspname = 'reprieve'")).toEqual([[]])
  })

  it('tells what a user may not do, whether or not the schema is there', async () => {
    expect(await told(as('poor'))).toEqual([
      ...UNSURE,
      'wrong postgres-permissions schema reprieve: the user may not create it',
    ])
    await (await open(own.url, tools)).store.close()
    expect(await told(own.url)).toEqual(UNSURE)
    expect((await told(as('poor'))).at(-1)).toMatch(/permissions schema reprieve: the user may not use it/)
    await ask(
      'GRANT USAGE ON SCHEMA reprieve TO poor',
      'GRANT SELECT ON ALL TABLES IN SCHEMA reprieve TO poor',
    )
    expect((await told(as('poor'))).at(-1)).toMatch(
      /the user lacks INSERT on board, UPDATE on board, DELETE on board, USAGE on board_version, INSERT on ledger/,
    )
    // the fix, as it is told, is enough
    const { fix } = (await examine(as('poor'))).find(({ level }) => level === 'wrong')!
    await ask(...fix!.replace('let its owner say: ', '').replaceAll('<our user>', 'poor').split('; '))
    expect(await told(as('poor'))).toEqual(UNSURE)
    const { store } = await open(as('poor'), tools)
    expect(await store.board.post('a', 1, 1000)).toBe(true)
    await store.close()
    await ask('CREATE SCHEMA bare', 'GRANT USAGE ON SCHEMA bare TO poor')
    expect((await told(as('poor', '?schema=bare'))).at(-1)).toMatch(/may not create tables in it/)
  })

  it("of an app's own store tells whether dead letters can be kept there too, and how to mend it", async () => {
    const schema = 'lettered'
    const at = (user: string) => as(user, `?schema=${schema}`)
    const mend = async (user: string) => {
      const { fix } = (await examine(at(user), true)).find(({ level }) => level === 'wrong')!
      await ask(...fix!.replace('let its owner say: ', '').replaceAll('<our user>', user).split('; '))
    }
    await (await open(`${own.url}?schema=${schema}`, tools)).store.close()
    expect((await examine(`${own.url}?schema=${schema}`, true)).slice(-2)).toMatchObject([
      { level: 'fine', what: 'no dead letters yet; their tables will be made' },
      { level: 'fine', what: 'no events yet; their tables will be made' },
    ])
    await ask(`GRANT USAGE ON SCHEMA ${schema} TO poor, few`, `GRANT SELECT ON ${schema}.meta TO poor, few`)
    await mend('poor')
    expect(await told(at('poor'))).toEqual(UNSURE)
    expect((await told(at('poor'), true)).at(-1)).toMatch(
      /may not create the tables for dead letters and events in it$/,
    )
    const { store } = await open(at('poor'), tools)
    expect(await store.board.post('a', 1, 1000)).toBe(true) // a ledger alone asks for no more
    await expect(store.ready!()).rejects.toMatchObject({
      code: 'unavailable',
      fix: expect.stringContaining(`GRANT CREATE ON SCHEMA ${schema}`),
    })
    await mend('poor')
    expect(await told(at('poor'), true)).toEqual(UNSURE)
    expect(await store.letters.count({})).toBe(0)
    await (await store.companion!.collect({ name: 'dead' })).close()
    await store.companion!.close()
    await store.close()
    expect((await told(at('few'), true)).find((each) => each.includes('lacks'))).toMatch(
      /lacks SELECT on audit, INSERT on audit, SELECT on audit_head, .*DELETE on subscription_change$/,
    )
    await mend('few')
    expect(await told(at('few'), true)).toEqual(UNSURE)
    await ask(`UPDATE ${schema}.meta SET value = 99 WHERE name = 'letters'`)
    expect((await told(at('poor'), true)).at(-1)).toMatch(/its dead letters are of version 99, .* knows 4$/)
    const newer = await open(at('poor'), tools)
    await expect(newer.store.letters.count({})).rejects.toMatchObject({ code: 'topology_differs' })
    await newer.store.close()
  })

  it('tells a schema of another version, an encoding that holds no every id, and transactions that only read', async () => {
    await (await open(`${own.url}?schema=newer`, tools)).store.close()
    await ask("UPDATE newer.meta SET value = 99 WHERE name = 'schema'")
    expect((await told(`${own.url}?schema=newer`)).at(-1)).toMatch(
      /^wrong postgres-schema schema newer: it is of version 99, and this program knows \d+$/,
    )
    await ask("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
    const latin = own.url.replace(/\/postgres$/, '/latin')
    expect((await told(latin))[0]).toBe('wrong postgres-encoding database: kept in LATIN1')
    await ask('ALTER DATABASE latin SET default_transaction_read_only = on')
    expect((await told(latin))[1]).toBe(
      'wrong postgres-primary server: transactions are read-only by default',
    )
  })

  it('tells when fewer connections are free than a process of ours may use', async () => {
    const all = await told(`${own.url}?pool=100`)
    expect(all.at(-1)).toMatch(/^risky postgres-connections max_connections: \d+ of \d+ are free/)
  })
})
