import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { type Fact, Permanent, reprieve } from '../../src/index.ts'
import { sweep } from '../rabbitmq/sweep.ts'
import { describeWith } from '../services/urls.ts'
import { describeOwn, type OwnServer, ownPostgres } from '../stores/own-server.ts'
import { ownSchema } from '../stores/postgres.ts'
import { cli, project, startCli } from './child.ts'

/** Who has PostgreSQL, and a transport that may keep nothing: the whole office by `--store postgres://…`. */
const byHand = (store: () => string, transport?: string): void => {
  it('dead letters are kept, found, understood, replayed and discarded there, and the audit is intact', async () => {
    const service = `pg-${randomUUID().slice(0, 8)}-svc`
    const type = `${service}.task`
    const cwd = project(service, type)
    if (transport) onTestFinished(() => sweep(transport, service, type))
    const env = { REPRIEVE_STORE: store(), ...(transport && { REPRIEVE_TRANSPORT: transport }) }
    const ask = async (...args: string[]) => {
      const { code, stdout, stderr } = await cli([...args, '--json'], { cwd, env })
      expect([args, code, stderr]).toEqual([args, 0, ''])
      return JSON.parse(stdout)
    }
    const run = startCli(['run', 'handlers.ts', '--json'], { cwd, env })
    await run.said('"is":"started"')
    for (const [n, bad] of ['no box', 'no box', 'nul\u0000 and \u001b[2J'].entries()) {
      await cli(['publish', type, JSON.stringify({ bad, n }), '--id', `e-${n}`], { cwd, env })
    }
    const kept = () => run.soFar().split('"is":"letter kept"').length - 1
    await expect.poll(kept, { interval: 50 }).toBe(3)

    const { groups } = await ask('dlq', 'groups')
    expect(groups.map(({ total }: { total: number }) => total).sort()).toEqual([1, 2])
    expect(await ask('dlq', 'list', '--error', 'BOX')).toMatchObject({ count: 2, whole: true })
    const found = await ask('dlq', 'list', '--where', '$.n > 1')
    expect(found.letters).toMatchObject([
      { originalEventId: 'e-2', error: expect.stringContaining('and \u001b[2J') },
    ])
    const id = found.letters[0].dlqId as string
    expect(await ask('dlq', 'show', id.slice(0, 13))).toMatchObject({ dlqId: id, state: 'open' })
    await ask('dlq', 'tend', groups[0].fingerprint, '--owner', 'ann', '--as', 'ann')
    await ask('dlq', 'discard', id, '--as', 'ann', '--reason', 'not to be mended')

    writeFileSync(join(cwd, 'mended'), '')
    const replayed = await cli(['dlq', 'replay', '--all', '--wait', '30s', '--as', 'bob'], { cwd, env })
    expect(replayed).toMatchObject({ code: 0 })
    const all = await ask('dlq', 'list', '--state', 'all')
    expect(all.letters.map(({ state }: { state: string }) => state).sort()).toEqual([
      ...['discarded', 'resolved', 'resolved'],
    ])
    const verified = await cli(['audit', 'verify'], { cwd, env })
    expect(verified).toMatchObject({ code: 0, stdout: expect.stringMatching(/^intact, \d+ entries, /) })
    const { entries } = await ask('audit', 'list', '--who', 'ann')
    expect(entries.map(({ act }: { act: string }) => act)).toEqual(['discard', 'tend'])
    run.signal('SIGTERM')
    expect((await run.ended).code).toBe(0)
  })
}

describeWith('postgres', 'an office on PostgreSQL beside a SQLite transport', (url) =>
  byHand(() => ownSchema(url)),
)
describeWith('amqp', 'an office on PostgreSQL', (broker) =>
  describeWith('postgres', 'beside RabbitMQ', (url) => byHand(() => ownSchema(url), broker)),
)

describeOwn('postgres', 'the letters’ store in PostgreSQL goes down', () => {
  const folder = mkdtempSync(join(tmpdir(), 'reprieve-letters-down-'))
  let server: OwnServer
  beforeAll(async () => {
    server = await ownPostgres()
  })
  afterAll(async () => {
    await server?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it('and what dies meanwhile stays unacknowledged at its destination, until the store is back', async () => {
    const file = join(folder, 'app.db')
    const facts: Fact[] = []
    const app = await reprieve({
      transport: `sqlite:${file}`,
      store: `${server.url}?timeout=1000`,
      journal: (fact) => facts.push(fact),
    })
    app.service('mail-svc').on('task.created', () => {
      throw new Permanent('no such address')
    })
    await app.start()
    await app.publish('task.created', {}, { id: 'before' })
    await expect.poll(() => app.store.letters.count({})).toBe(1)

    const trouble = () =>
      facts.filter((fact) => fact.is === 'trouble' && fact.where.startsWith('ingesting')).length
    await server.kill()
    for (let n = 0; n < 20; n++) await app.publish('task.created', {}, { id: `down-${n}` })
    await expect.poll(() => facts.filter(({ is }) => is === 'dead').length).toBe(21)
    await expect.poll(trouble).toBeGreaterThan(0)
    expect(parcelsIn(file)).toBe(20)

    await server.start()
    await expect.poll(() => parcelsIn(file), { timeout: 60_000, interval: 50 }).toBe(0)
    expect(await app.store.letters.count({})).toBe(21)
    const tallies = await app.store.letters.groups.tallies()
    expect(tallies.reduce((sum, { count }) => sum + count, 0)).toBe(21)
    await app.close()
  })
})

const parcelsIn = (file: string): unknown => {
  const db = new DatabaseSync(file, { readOnly: true })
  const row = db.prepare('SELECT count(*) AS n FROM reprieve_parcel').get()
  db.close()
  return row!.n
}
