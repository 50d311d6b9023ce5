import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { describeWith } from '../../test/services/urls.ts'
import { classify } from './classify.ts'
import type { Failure } from './failure.ts'

const failureOf = async (fn: () => Promise<unknown>): Promise<Failure> => {
  try {
    await fn()
  } catch (error) {
    return classify(error)
  }
  throw new Error('nothing was thrown')
}

const clientAt = async (connectionString: string, more: pg.ClientConfig = {}): Promise<pg.Client> => {
  const client = new pg.Client({ connectionString, ...more })
  client.on('error', () => {})
  onTestFinished(() => client.end().catch(() => {}))
  await client.connect()
  return client
}

describeWith('postgres', 'PostgreSQL', (url) => {
  const schema = `classify_${randomUUID().replaceAll('-', '')}`
  const role = schema
  const admin = new pg.Client({ connectionString: url })

  beforeAll(async () => {
    await admin.connect()
    await admin.query(`CREATE SCHEMA ${schema}`)
    await admin.query(`CREATE TABLE ${schema}.t (id int PRIMARY KEY, word varchar(5) NOT NULL UNIQUE)`)
    await admin.query(`INSERT INTO ${schema}.t VALUES (1, 'one'), (2, 'two')`)
    await admin.query(`CREATE ROLE ${role} LOGIN PASSWORD 'right' CONNECTION LIMIT 1`)
    await admin.query(`GRANT USAGE ON SCHEMA ${schema} TO ${role}`)
  })

  afterAll(async () => {
    await admin.query(`DROP SCHEMA ${schema} CASCADE`)
    await admin.query(`DROP ROLE ${role}`)
    await admin.end()
  })

  const connect = async (more: pg.ClientConfig = {}): Promise<pg.Client> => {
    const client = await clientAt(url, more)
    await client.query(`SET search_path = ${schema}`)
    return client
  }

  const asRole = (password: string): string => {
    const other = new URL(url)
    other.username = role
    other.password = password
    return other.href
  }

  it.each([
    ['a key that is there', "INSERT INTO t VALUES (1, 'new')", '23505', 'integration'],
    ['nothing where something must be', 'INSERT INTO t VALUES (3, NULL)', '23502', 'integration'],
    ['a value that is too long', "INSERT INTO t VALUES (3, 'too long')", '22001', 'integration'],
    ['a value that is no number', "SELECT 'x'::int", '22P02', 'integration'],
    ['bad JSON', `SELECT '{bad'::json`, '22P02', 'integration'],
    ['a division by zero', 'SELECT 1 / 0', '22012', 'integration'],
    ['bad SQL', 'SELEC 1', '42601', 'integration'],
    ['no such table', 'SELECT * FROM nowhere', '42P01', 'integration'],
    ['no such column', 'SELECT nothing FROM t', '42703', 'integration'],
  ])('%s is permanent', async (_, sql, code, kind) => {
    const client = await connect()
    expect(await failureOf(() => client.query(sql))).toMatchObject({
      category: 'permanent',
      kind,
      code,
      name: 'DatabaseError',
    })
  })

  it('a deadlock', async () => {
    const [first, second] = [await connect(), await connect()]
    for (const client of [first, second]) await client.query('BEGIN')
    await first.query("UPDATE t SET word = 'a' WHERE id = 1")
    await second.query("UPDATE t SET word = 'b' WHERE id = 2")
    const crossing = await Promise.allSettled([
      first.query("UPDATE t SET word = 'a2' WHERE id = 2"),
      second.query("UPDATE t SET word = 'b1' WHERE id = 1"),
    ])
    const lost = crossing.find((each) => each.status === 'rejected')
    expect(classify(lost?.reason)).toMatchObject({
      category: 'transient',
      kind: 'integration',
      code: '40P01',
      because: 'SQLSTATE 40P01 (transaction rolled back) is transient',
    })
    for (const client of [first, second]) await client.query('ROLLBACK')
  })

  it('transactions that can not be put in an order', async () => {
    const [first, second] = [await connect(), await connect()]
    for (const client of [first, second]) {
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
      await client.query('SELECT * FROM t')
    }
    await first.query("UPDATE t SET word = 'c' WHERE id = 1")
    await first.query('COMMIT')
    const failing = () => second.query("UPDATE t SET word = 'd' WHERE id = 1")
    expect(await failureOf(failing)).toMatchObject({ category: 'transient', code: '40001' })
    // and what follows in a transaction that has failed already says nothing of its own
    expect(await failureOf(() => second.query('SELECT 1'))).toMatchObject({
      category: 'unknown',
      code: '25P02',
    })
  })

  it('a statement that takes too long', async () => {
    const client = await connect()
    await client.query('SET statement_timeout = 30')
    expect(await failureOf(() => client.query('SELECT pg_sleep(60)'))).toMatchObject({
      category: 'transient',
      kind: 'timeout',
      code: '57014',
    })
  })

  it('an answer for which the client does not wait', async () => {
    const client = await connect({ query_timeout: 200 })
    expect(await failureOf(() => client.query('SELECT pg_sleep(1)'))).toMatchObject({
      category: 'transient',
      kind: 'timeout',
    })
  })

  it('a lock that another holds', async () => {
    const [holder, other] = [await connect(), await connect()]
    await holder.query('BEGIN')
    await holder.query('SELECT * FROM t WHERE id = 1 FOR UPDATE')
    const expected = { category: 'transient', code: '55P03' }
    const nowait = () => other.query('SELECT * FROM t WHERE id = 1 FOR UPDATE NOWAIT')
    expect(await failureOf(nowait)).toMatchObject(expected)
    await other.query('SET lock_timeout = 30')
    const waiting = () => other.query('SELECT * FROM t WHERE id = 1 FOR UPDATE')
    expect(await failureOf(waiting)).toMatchObject(expected)
    await holder.query('ROLLBACK')
  })

  it('a connection that the operator ends, and what follows on it', async () => {
    const client = await connect()
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    const failing = failureOf(() => client.query('SELECT pg_sleep(60)'))
    await admin.query('SELECT pg_terminate_backend($1)', [rows[0]!.pid])
    expect(await failing).toMatchObject({ category: 'transient', code: '57P01' })
    expect(await failureOf(() => client.query('SELECT 1'))).toMatchObject({
      category: 'transient',
      kind: 'integration',
    })
  })

  it('too many connections', async () => {
    await clientAt(asRole('right'))
    expect(await failureOf(() => clientAt(asRole('right')))).toMatchObject({
      category: 'transient',
      code: '53300',
    })
  })

  it('a pool that has none left', async () => {
    const pool = new pg.Pool({ connectionString: url, max: 1, connectionTimeoutMillis: 200 })
    onTestFinished(() => pool.end())
    const held = await pool.connect()
    expect(await failureOf(() => pool.connect())).toMatchObject({ category: 'transient', kind: 'timeout' })
    held.release()
  })

  it('a stranger, and one who has no right', async () => {
    const stranger = new URL(url)
    stranger.username = `stranger_${role}`
    stranger.password = 'no-such-password'
    const failure = await failureOf(() => clientAt(stranger.href))
    // which of the two depends on how the server is told to let people in
    expect(failure).toMatchObject({
      category: 'permanent',
      kind: 'auth',
      code: expect.stringMatching(/^28(P01|000)$/),
    })
    expect(JSON.stringify(failure)).not.toContain('no-such-password')
    const client = await connect()
    await client.query(`SET ROLE ${role}`)
    expect(await failureOf(() => client.query(`SELECT * FROM ${schema}.t`))).toMatchObject({
      category: 'permanent',
      kind: 'auth',
      code: '42501',
    })
  })

  it('a database that is not there', async () => {
    const other = new URL(url)
    other.pathname = `/no_${schema}`
    expect(await failureOf(() => clientAt(other.href))).toMatchObject({
      category: 'permanent',
      code: '3D000',
    })
  })

  it('a write where only reading is allowed, as on a standby', async () => {
    const client = await connect()
    await client.query('BEGIN READ ONLY')
    expect(await failureOf(() => client.query('DELETE FROM t'))).toMatchObject({
      category: 'transient',
      code: '25006',
    })
  })

  it('a plan that a change of the table made stale', async () => {
    const client = await connect()
    await client.query('CREATE TEMPORARY TABLE changing (a int)')
    const query = { name: 'all', text: 'SELECT * FROM changing' }
    await client.query(query)
    await client.query('ALTER TABLE changing ADD COLUMN b int')
    expect(await failureOf(() => client.query(query))).toMatchObject({ category: 'transient', code: '0A000' })
  })

  it("what the user's own procedure raises is unknown", async () => {
    const client = await connect()
    const raise = () => client.query(`DO $$ BEGIN RAISE EXCEPTION 'out of stock'; END $$`)
    expect(await failureOf(raise)).toMatchObject({ category: 'unknown', code: 'P0001' })
  })

  it('as the cause of what a query builder throws', async () => {
    const client = await connect()
    const cause: unknown = await client.query('SELEC 1').catch((error: unknown) => error)
    expect(classify(new Error('Failed query: SELEC 1', { cause }))).toMatchObject({
      category: 'permanent',
      code: '42601',
    })
  })
})
