import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/adapters/system/clock.ts'
import {
  type Context,
  type Fact,
  type Reprieve,
  type RuleBook,
  reprieve,
  type Sql,
  type Tx,
  upsert,
} from '../../src/index.ts'
import { postgresTx } from '../../src/postgres.ts'
import { readRules } from '../../src/rules/index.ts'
import { describeWith } from '../services/urls.ts'
import { sweep } from '../tx/sweep.ts'
import { until } from '../until.ts'

const folder = mkdtempSync(join(tmpdir(), 'reprieve-tx-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const rulesWith = (timeout: string, retries: number) =>
  readRules(
    `version: 1
policies: { quick: { backoff: fixed, delay: 50ms, jitter: none, retries: ${retries} } }
defaults: { policy: quick, timeout: ${timeout}, idempotency: { pattern: transaction } }`,
    'test.yaml',
  )
const RULES = rulesWith('30s', 3)

/** One database of a user's, with a table that has no key: what happens twice is there twice. */
interface World {
  readonly tx?: Tx
  /** Where there is no broker. */
  readonly store: string
  readonly transport: string
  /** Inside `ctx.tx`: inserts, and publishes where a type is given; then perhaps fails. */
  effect(ctx: Context, id: string, then?: () => unknown): Promise<unknown>
  ids(): Promise<readonly string[]>
  /** A transaction of the user's own, around a publish; undone where asked. */
  around(work: (tx: unknown) => Promise<unknown>, end: 'COMMIT' | 'ROLLBACK'): Promise<void>
  close(): Promise<void>
}

const sqliteWorld = (transport?: string): World => {
  const file = join(folder, `${randomBytes(6).toString('hex')}.db`)
  const database = new DatabaseSync(file, { timeout: 5000 })
  database.exec('PRAGMA journal_mode = WAL; CREATE TABLE effects (id TEXT)')
  return {
    store: `sqlite:${file}`,
    transport: transport ?? `sqlite:${file}`,
    effect: (ctx, id, then) =>
      ctx.tx((db: Sql) => {
        db.prepare('INSERT INTO effects VALUES (?)').run(id)
        then?.()
      }),
    ids: async () =>
      database
        .prepare('SELECT id FROM effects ORDER BY id')
        .all()
        .map(({ id }) => String(id)),
    around: async (work, end) => {
      database.exec('BEGIN IMMEDIATE')
      await work(database)
      database.exec(end)
    },
    close: async () => database.close(),
  }
}

const postgresWorld = async (
  url: string,
  transport?: string,
): Promise<World & { pool: pg.Pool; schema: string }> => {
  const schema = `test_tx_${randomBytes(6).toString('hex')}`
  const pool = new pg.Pool({ connectionString: url, max: 6 })
  pool.on('error', () => {})
  await pool.query(`CREATE SCHEMA ${schema}; CREATE TABLE ${schema}.effects (id text)`)
  const store = `sqlite:${join(folder, `${randomBytes(6).toString('hex')}.db`)}`
  return {
    pool,
    schema,
    tx: postgresTx(pool, { schema }),
    store,
    transport: transport ?? store,
    effect: (ctx, id, then) =>
      ctx.tx(async (client: pg.PoolClient) => {
        await client.query(`INSERT INTO ${schema}.effects VALUES ($1)`, [id])
        await then?.()
      }),
    ids: async () =>
      (await pool.query(`SELECT id FROM ${schema}.effects ORDER BY id`)).rows.map(({ id }) => String(id)),
    around: async (work, end) => {
      const client = await pool.connect()
      await client.query('BEGIN')
      await work(client)
      await client.query(end)
      client.release()
    },
    close: async () => {
      await pool.query(`DROP SCHEMA ${schema} CASCADE`)
      await pool.end()
    },
  }
}

/** The same promises, whatever the database. */
const promises = (make: () => Promise<World> | World) => {
  let world: World
  let name: string
  const apps: Reprieve[] = []
  const facts: Fact[] = []
  const open = async (over: { readonly rules?: RuleBook } = {}): Promise<Reprieve> => {
    const app = await reprieve({
      rules: RULES,
      transport: world.transport,
      store: world.store,
      ...(world.tx && { tx: world.tx }),
      ...over,
      journal: (fact) => void facts.push(fact),
    })
    apps.push(app)
    return app
  }
  beforeAll(async () => {
    world = await make()
  })
  const within = (title: string, body: () => Promise<void>) =>
    it(title, async () => {
      name = `tx-${randomBytes(6).toString('hex')}`
      facts.splice(0)
      try {
        await body()
      } finally {
        for (const app of apps.splice(0)) await app.close()
        await sweep(world.transport, [
          [name, `${name}.a`],
          [name, `${name}.b`],
        ])
      }
    })
  afterAll(() => world.close())
  const mine = async (prefix: string) => (await world.ids()).filter((id) => id.startsWith(`${name}${prefix}`))
  const duplicates = () => facts.filter(({ is }) => is === 'duplicate').length

  within('an effect happens once, though its event comes three times', async () => {
    const app = await open()
    app.service(name).on(`${name}.a`, (event, ctx) => world.effect(ctx, event.id) as never)
    await app.start()
    const id = `${name}-1`
    for (let i = 0; i < 3; i++) await app.publish(`${name}.a`, {}, { id })
    await until('two duplicates', () => duplicates() >= 2)
    expect(await mine('-')).toEqual([id])
  })

  within('a function that throws leaves nothing, its outgoing events included', async () => {
    const app = await open()
    const heard: unknown[] = []
    app
      .service(name)
      .on(
        `${name}.a`,
        (event, ctx) =>
          world.effect(ctx, `${event.id}-${ctx.attempt}`, () => {
            void ctx.publish(`${name}.b`, ctx.attempt)
            if (ctx.attempt < 3) throw new Error('not yet')
          }) as never,
      )
      .on(`${name}.b`, (event) => void heard.push(event.data))
    await app.start()
    await app.publish(`${name}.a`, {}, { id: name })
    await until('its outgoing event', () => heard.length > 0)
    expect(await mine('')).toEqual([`${name}-3`])
    expect(heard).toEqual([3])
  })

  within('two workers that race for one event have one effect', async () => {
    const other = await open()
    const app = await open()
    let begun = 0
    for (const each of [app, other]) {
      each.service(name).on(`${name}.a`, async (event, ctx) => {
        begun++
        // both are in their handlers before either commits
        for (let i = 0; i < 100 && begun < 2; i++) await systemClock.sleep(10)
        await world.effect(ctx, event.id)
      })
      await each.start()
    }
    const id = `${name}-1`
    await Promise.all([app.publish(`${name}.a`, {}, { id }), other.publish(`${name}.a`, {}, { id })])
    await until(
      'both to end',
      () => facts.filter(({ is }) => is === 'done' || is === 'duplicate').length >= 2,
    )
    expect(begun).toBe(2)
    expect(await mine('-')).toEqual([id])
  })

  within("publishes with the user's own transaction, or not at all", async () => {
    const app = await open()
    const heard: unknown[] = []
    app.service(name).on(`${name}.b`, (event) => void heard.push(event.data))
    await app.start()
    await world.around((tx) => app.publish(`${name}.b`, 'undone', { tx }), 'ROLLBACK')
    await world.around((tx) => app.publish(`${name}.b`, 'committed', { tx }), 'COMMIT')
    await until('it', () => heard.length > 0)
    await systemClock.sleep(200)
    expect(heard).toEqual(['committed'])
  })

  within('the same id with another payload is buried as a conflict', async () => {
    const app = await open()
    app.service(name).on(`${name}.a`, (event, ctx) => world.effect(ctx, event.id) as never)
    await app.start()
    await app.publish(`${name}.a`, { n: 1 }, { id: `${name}-1` })
    await until('it', () => facts.some(({ is }) => is === 'done'))
    await app.publish(`${name}.a`, { n: 2 }, { id: `${name}-1` })
    const [kept] = await until('its letter', async () => {
      const letters = await app.office.list({ service: name }, 1)
      return letters.length > 0 ? letters : undefined
    }).then((letters) => letters!)
    expect(kept?.letter.reason).toBe('conflict')
    expect(await mine('-')).toHaveLength(1)
  })

  within(
    'an event that the companion keeps is settled with its effect, and what it publishes goes to the transport',
    async () => {
      const app = await open({
        rules: readRules(
          `version: 1
policies: { quick: { backoff: fixed, delay: 50ms, jitter: none, retries: 3 } }
defaults: { policy: quick, order: key, idempotency: { pattern: transaction } }`,
          'test.yaml',
        ),
      })
      const heard: unknown[] = []
      app
        .service(name)
        .on(`${name}.a`, (event, ctx) => {
          if (ctx.attempt < 3) throw new Error('not yet')
          return world.effect(
            ctx,
            event.id,
            () => void ctx.publish(`${name}.b`, event.id, { orderKey: 'k' }),
          ) as never
        })
        .on(`${name}.b`, (event) => void heard.push(event.data))
      await app.start()
      const ids = [1, 2, 3].map((n) => `${name}-${n}`)
      for (const id of ids) await app.publish(`${name}.a`, {}, { id, orderKey: 'k' })
      await until('all', () => heard.length >= 3)
      expect(await mine('-')).toEqual(ids)
      expect(heard).toEqual(ids)
      expect(facts.filter(({ is }) => is === 'lost')).toEqual([])
    },
  )

  within('a publish that is given no connection is refused', async () => {
    const app = await open()
    await expect(app.publish('x', {}, { tx: {} })).rejects.toMatchObject({ code: 'bad_usage' })
  })
}

describe('transactions in the file of transport and store', () => promises(() => sqliteWorld()))

describeWith('amqp', 'transactions in the file of the store beside a real RabbitMQ', (url) =>
  promises(() => sqliteWorld(url)),
)

describeWith('postgres', 'transactions in a real PostgreSQL', (url) => {
  promises(() => postgresWorld(url))

  describe('of one user', () => {
    let world: Awaited<ReturnType<typeof postgresWorld>>
    beforeAll(async () => {
      world = await postgresWorld(url)
    })
    afterAll(() => world.close())
    const failures: string[] = []
    const run = async (
      handle: (id: string, ctx: Context) => Promise<unknown>,
      rules = RULES,
    ): Promise<readonly string[]> => {
      failures.splice(0)
      const { tx, store, transport } = world
      const name = `tx-${randomBytes(6).toString('hex')}`
      let ended = false
      const journal = (fact: Fact) => {
        if (fact.is === 'failed') failures.push(fact.failure.message)
        // on a busy machine the commit itself may outlast the deadline: the next attempt finds it done
        if (fact.is === 'done' || fact.is === 'duplicate' || fact.is === 'dead') ended = true
      }
      const app = await reprieve({ rules, tx: tx!, store, transport, journal })
      app.service(name).on(name, (event, ctx) => handle(event.id, ctx) as never)
      await app.start()
      const id = await app.publish(name)
      await until('its end', () => ended)
      await app.close()
      return (await world.ids()).filter((each) => each === id)
    }

    it('a connection that is cut in mid-transaction undoes it, and it is tried again', async () => {
      const rows = await run(async (id, ctx) =>
        ctx.tx(async (client: pg.PoolClient) => {
          await client.query(`INSERT INTO ${world.schema}.effects VALUES ($1)`, [id])
          if (ctx.attempt > 1) return
          const { rows: own } = await client.query('SELECT pg_backend_pid() AS pid')
          await world.pool.query('SELECT pg_terminate_backend($1)', [own[0].pid])
          await client.query('SELECT 1')
        }),
      )
      expect(rows).toHaveLength(1)
      expect(failures).toHaveLength(1)
    })

    it('a handler that ignores its deadline commits nothing late, and its connection is closed', async () => {
      const deaf = `SELECT pg_sleep(2), '${randomBytes(6).toString('hex')}'`
      let event = ''
      const rows = await run(
        async (id, ctx) => {
          event = id
          await ctx.tx(async (client: pg.PoolClient) => {
            await client.query(`INSERT INTO ${world.schema}.effects VALUES ($1)`, [id])
            if (ctx.attempt === 1) await client.query(deaf)
          })
        },
        rulesWith('1s', 50),
      )
      expect(rows).toHaveLength(1)
      expect(failures[0]).toContain('took longer than')
      await until('the end of its connection', async () => {
        const asked = await world.pool.query('SELECT 1 FROM pg_stat_activity WHERE query = $1', [deaf])
        return asked.rows.length === 0
      })
      expect((await world.ids()).filter((each) => each === event)).toHaveLength(1)
    })

    it('an error that was caught inside does not pass for a commit', async () => {
      const rows = await run(async (id, ctx) =>
        ctx.tx(async (client: pg.PoolClient) => {
          await client.query(`INSERT INTO ${world.schema}.effects VALUES ($1)`, [id])
          await client.query('SELECT 1 / 0').catch(() => {})
        }),
      )
      expect(rows).toEqual([])
      expect(failures[0]).toContain('PostgreSQL undid the transaction')
    })

    it('two relays share an outbox, and no event passes another of its order key', async () => {
      const { outbox, publish } = world.tx!
      const events = Array.from({ length: 60 }, (_, n) => ({
        ...{ id: `e${n}`, source: 's', type: 't', headers: {}, data: Buffer.from(`${n}`) },
        extensions: { orderkey: `k${n % 3}` },
      }))
      await world.tx!.ready!()
      await world.around((client) => publish(client, events), 'COMMIT')
      const seen: string[] = []
      const relay = async () => {
        for (let idle = 0; idle < 20; ) {
          const count = await outbox!.relay(7, Date.now(), async (batch) => {
            await systemClock.sleep(Math.random() * 10)
            seen.push(...batch.map(({ id }) => id))
            return batch.map(() => true)
          })
          idle = count > 0 ? 0 : idle + 1
        }
      }
      await Promise.all([relay(), relay(), relay()])
      for (const k of [0, 1, 2]) {
        const own = seen.filter((id) => Number(id.slice(1)) % 3 === k)
        expect(own).toEqual(events.filter(({ id }) => own.includes(id)).map(({ id }) => id))
        expect(own).toHaveLength(20)
      }
    })

    it('an upsert by pg writes a newer version, and never an older one', async () => {
      const table = `${world.schema}.customers`
      await world.pool.query(`CREATE TABLE ${table} (id int PRIMARY KEY, name text, v int)`)
      const put = (customer: string, v: number) =>
        upsert(world.pool, table, { key: { id: 1 }, values: { name: customer, v }, newer: 'v' })
      expect([await put('b', 2), await put('a', 1), await put('c', 3)]).toEqual([true, false, true])
      expect((await world.pool.query(`SELECT name FROM ${table}`)).rows).toEqual([{ name: 'c' }])
    })
  })
})

describeWith('postgres', 'transactions in a real PostgreSQL', (url) => {
  describeWith('amqp', 'beside RabbitMQ', (amqp) => promises(() => postgresWorld(url, amqp)))
})
