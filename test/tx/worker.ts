import pg from 'pg'
import type { Context, Handled, Sql, Tx } from '../../src/index.ts'
import { reprieve } from '../../src/index.ts'
import { postgresTx } from '../../src/postgres.ts'
import { readRules } from '../../src/rules/index.ts'

/**
 * A worker that dies by its own hand, with SIGKILL, when it passes a durable boundary for the nth time. Its effects are
 * rows in the user's own table, which nobody in Reprieve knows.
 */
const { transport, store, postgres, schema, name, dieAt, nth } = JSON.parse(process.argv[2]!) as WorkerOptions

export interface WorkerOptions {
  readonly transport: string
  readonly store: string
  /** Without one the effects are in the store's file. */
  readonly postgres?: string
  readonly schema: string
  /** Of the services and types. */
  readonly name: string
  readonly dieAt?: Boundary
  readonly nth: number
}

export type Boundary = 'before commit' | 'after commit' | 'after ack' | 'after publish'

let passed = 0
const boundary = (which: Boundary): void => {
  if (which === dieAt && ++passed >= nth) process.kill(process.pid, 'SIGKILL')
}

const mortal = (tx: Tx): Tx => ({
  ...tx,
  run: async (work, signal) => {
    const value = await tx.run(async (client) => {
      const worked = await work(client)
      boundary('before commit')
      return worked
    }, signal)
    boundary('after commit')
    return value
  },
  outbox: {
    ...tx.outbox!,
    relay: (most, now, publish) =>
      tx.outbox!.relay(most, now, async (events) => {
        const relayed = await publish(events)
        boundary('after publish')
        return relayed
      }),
  },
})

const pool = postgres === undefined ? undefined : new pg.Pool({ connectionString: postgres, max: 6 })
pool?.on('error', () => {})

/** One row in a table without any key: what happens twice is there twice. */
const effect = async (
  ctx: Context,
  table: string,
  id: string,
  also?: () => Promise<string>,
): Promise<void> => {
  if (pool) {
    await ctx.tx(async (client: pg.PoolClient) => {
      await client.query(`INSERT INTO ${schema}.${table} VALUES ($1)`, [id])
      await also?.()
    })
  } else {
    await ctx.tx((db: Sql) => {
      db.exec(`CREATE TABLE IF NOT EXISTS ${table} (id TEXT)`)
      db.prepare(`INSERT INTO ${table} VALUES (?)`).run(id)
      void also?.()
      boundary('before commit')
    })
    boundary('after commit')
  }
}

// it dies within handlers: where each life begins after the last one's leases, an event is alone with the third such death
const app = await reprieve({
  transport,
  store,
  ...(pool && { tx: mortal(postgresTx(pool, { schema })) }),
  rules: readRules(
    `version: 1
policies: { hurried: { backoff: fixed, delay: 100ms, jitter: half, retries: 20, window: 5m } }
defaults: { policy: hurried, concurrency: 5, window: 10, lease: 2s, timeout: 10s, idempotency: { pattern: transaction }, poison: { crashes: 100 } }`,
    'test.yaml',
  ),
  journal: (fact) => {
    if (fact.is === 'done') boundary('after ack')
    // the store's own relay tells of it before the row is gone
    if (fact.is === 'published' && !pool) boundary('after publish')
    if (fact.is === 'trouble' && process.env.TX_LOUD) console.error(fact.where, fact.error.message)
  },
})
app
  .service(`${name}-orders`)
  .on(`${name}.order`, (event, ctx) =>
    effect(ctx, 'effects', event.id, () => ctx.publish(`${name}.paid`, { order: event.id })),
  )
app
  .service(`${name}-sink`)
  .on(`${name}.paid`, (event: Handled<{ order: string }>, ctx) => effect(ctx, 'received', event.data.order))

await app.start()
process.send?.('ready')
process.once('SIGTERM', () => void app.close(5000).then(() => process.exit(0)))
