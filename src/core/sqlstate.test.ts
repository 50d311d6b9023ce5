import net, { type AddressInfo } from 'node:net'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { classify } from './classify.ts'
import type { Failure } from './failure.ts'
import { fromSqlState } from './sqlstate.ts'

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

describe('SQLSTATE', () => {
  it.each([
    ['08000', 'transient', 'integration'],
    ['08001', 'transient', 'integration'],
    ['08003', 'transient', 'integration'],
    ['08006', 'transient', 'integration'],
    ['08P01', 'transient', 'integration'],
    ['40001', 'transient', 'integration'],
    ['40P01', 'transient', 'integration'],
    ['53100', 'transient', 'integration'],
    ['53200', 'transient', 'integration'],
    ['53300', 'transient', 'integration'],
    ['57014', 'transient', 'timeout'],
    ['57P01', 'transient', 'integration'],
    ['57P02', 'transient', 'integration'],
    ['57P03', 'transient', 'integration'],
    ['55006', 'transient', 'integration'],
    ['55P03', 'transient', 'integration'],
    ['25006', 'transient', 'integration'],
    ['25P03', 'transient', 'timeout'],
    ['72000', 'transient', 'integration'],
    ['HYT00', 'transient', 'timeout'],
    ['0A000', 'permanent', 'integration'],
    ['21000', 'permanent', 'integration'],
    ['22001', 'permanent', 'integration'],
    ['22P02', 'permanent', 'integration'],
    ['23502', 'permanent', 'integration'],
    ['23503', 'permanent', 'integration'],
    ['23505', 'permanent', 'integration'],
    ['28000', 'permanent', 'auth'],
    ['28P01', 'permanent', 'auth'],
    ['3D000', 'permanent', 'integration'],
    ['3F000', 'permanent', 'integration'],
    ['42501', 'permanent', 'auth'],
    ['42601', 'permanent', 'integration'],
    ['42P01', 'permanent', 'integration'],
    ['44000', 'permanent', 'integration'],
    ['54000', 'permanent', 'integration'],
    ['25P02', 'unknown', 'integration'],
    ['26000', 'unknown', 'integration'],
    ['55000', 'unknown', 'integration'],
    ['58030', 'unknown', 'integration'],
    ['HY000', 'unknown', 'integration'],
    ['P0001', 'unknown', 'integration'],
    ['XX000', 'unknown', 'integration'],
  ] as const)('%s is %s, kind %s', (code, category, kind) => {
    expect(fromSqlState(code, 'no')).toMatchObject({ category, kind })
    // as pg, and as MySQL's drivers give it
    const asPg = Object.assign(new Error('no'), { severity: 'ERROR', code })
    expect(classify(asPg)).toMatchObject({ category, kind, code })
    const asMysql = Object.assign(new Error('no'), { code: 'ER_SOMETHING', errno: 1, sqlState: code })
    expect(classify(asMysql)).toMatchObject({ category, kind, code })
  })

  it.each([
    ['08006', 'SQLSTATE 08006 (connection) is transient'],
    ['40P01', 'SQLSTATE 40P01 (transaction rolled back) is transient'],
    ['53300', 'SQLSTATE 53300 (insufficient resources) is transient'],
    ['57P01', 'SQLSTATE 57P01 (operator intervention) is transient'],
    ['57014', 'SQLSTATE 57014 (query cancelled) is transient'],
    ['72000', 'SQLSTATE 72000 (snapshot too old) is transient'],
    ['0A000', 'SQLSTATE 0A000 (not supported) is permanent'],
    ['21000', 'SQLSTATE 21000 (cardinality) is permanent'],
    ['22P02', 'SQLSTATE 22P02 (data) is permanent'],
    ['23505', 'SQLSTATE 23505 (constraint) is permanent'],
    ['28P01', 'SQLSTATE 28P01 (login) is permanent'],
    ['3D000', 'SQLSTATE 3D000 (no such database) is permanent'],
    ['3F000', 'SQLSTATE 3F000 (no such schema) is permanent'],
    ['42P01', 'SQLSTATE 42P01 (syntax or access) is permanent'],
    ['42501', 'SQLSTATE 42501 (insufficient privilege) is permanent'],
    ['44000', 'SQLSTATE 44000 (check option) is permanent'],
    ['54000', 'SQLSTATE 54000 (program limit) is permanent'],
    ['25006', 'SQLSTATE 25006 (read-only) is transient'],
    ['25P03', 'SQLSTATE 25P03 (idle in transaction) is transient'],
    ['55006', 'SQLSTATE 55006 (object in use) is transient'],
    ['55P03', 'SQLSTATE 55P03 (lock not available) is transient'],
    ['HV00N', 'SQLSTATE HV00N (foreign connection) is transient'],
    ['HYT00', 'SQLSTATE HYT00 (timeout) is transient'],
    ['HYT01', 'SQLSTATE HYT01 (connection timeout) is transient'],
    ['P0001', 'SQLSTATE P0001 is unknown'],
  ])('%s says why', (code, because) => {
    expect(fromSqlState(code, 'no').because).toBe(because)
  })

  it('a plan that is stale', () => {
    const error = Object.assign(new Error('cached plan must not change result type'), {
      severity: 'ERROR',
      code: '0A000',
    })
    expect(classify(error)).toMatchObject({
      category: 'transient',
      because: 'SQLSTATE 0A000 (stale plan) is transient',
    })
  })

  it('five letters alone are none', () => {
    expect(classify(Object.assign(new Error('no'), { code: '40001' }))).toMatchObject({ category: 'unknown' })
    expect(classify(Object.assign(new Error('no'), { code: 'EPIPE' }))).toMatchObject({
      because: 'EPIPE is transient',
    })
    for (const more of [{ severity: 'high', code: 'low' }, { sqlState: '4000' }, { sqlState: '40001x' }]) {
      expect(classify(Object.assign(new Error('no'), more)).because).toBe('nothing is known of such an error')
    }
  })
})

describe('PostgreSQL out of reach', () => {
  const listening = async (act: (socket: net.Socket) => void): Promise<string> => {
    const sockets = new Set<net.Socket>()
    const server = net.createServer((socket) => {
      sockets.add(socket.on('error', () => {}))
      act(socket)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      server.close()
      for (const socket of sockets) socket.destroy()
    })
    return `postgres://ann:secret@127.0.0.1:${(server.address() as AddressInfo).port}/orders`
  }

  it('a closed port', async () => {
    const gone = net.createServer()
    await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve))
    const { port } = gone.address() as AddressInfo
    await new Promise((resolve) => gone.close(resolve))
    expect(await failureOf(() => clientAt(`postgres://127.0.0.1:${port}/orders`))).toMatchObject({
      category: 'transient',
      code: 'ECONNREFUSED',
    })
  })

  it('a server that says nothing', async () => {
    const url = await listening(() => {})
    const hasty = () => clientAt(url, { connectionTimeoutMillis: 50 })
    expect(await failureOf(hasty)).toMatchObject({ category: 'transient', kind: 'timeout' })
  })

  it('a server that hangs up, or resets', async () => {
    const ended = await listening((socket) => void socket.once('data', () => socket.end()))
    expect(await failureOf(() => clientAt(ended))).toMatchObject({
      category: 'transient',
      kind: 'integration',
    })
    const reset = await listening((socket) => void socket.once('data', () => socket.resetAndDestroy()))
    expect(await failureOf(() => clientAt(reset))).toMatchObject({
      category: 'transient',
      code: 'ECONNRESET',
    })
  })
})
