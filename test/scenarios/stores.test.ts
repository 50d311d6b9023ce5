import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type Fact, type Reprieve, reprieve } from '../../src/index.ts'
import { readRules } from '../../src/rules/index.ts'
import { describeWith } from '../services/urls.ts'
import { describeOwn, type OwnServer, ownPostgres, ownRedis } from '../stores/own-server.ts'

const folder = mkdtempSync(join(tmpdir(), 'reprieve-stores-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const SERVICE = 'billing'
let runs = 0

interface World {
  readonly app: Reprieve
  readonly facts: Fact[]
  readonly file: string
  /** What the handlers were given, in order: `type id`. */
  readonly seen: string[]
  only(is: Fact['is']): readonly Fact[]
}

interface Wish {
  readonly yaml: string
  readonly types: readonly string[]
  readonly transport?: string
  readonly handle?: () => Promise<void>
}

const world = async ({ yaml, types, transport, handle }: Wish): Promise<World> => {
  const file = join(folder, `${++runs}.db`)
  const facts: Fact[] = []
  const seen: string[] = []
  const app = await reprieve({
    rules: readRules(yaml, 'stores.yaml'),
    transport: transport ?? `sqlite:${file}`,
    store: `sqlite:${file}`,
    journal: (fact) => facts.push(fact),
  })
  onTestFinished(() => app.close(1000))
  const service = app.service(SERVICE)
  for (const type of types) {
    service.on(type, async (event) => {
      seen.push(`${event.type} ${event.id}`)
      await handle?.()
    })
  }
  return { app, facts, file, seen, only: (is) => facts.filter((fact) => fact.is === is) }
}

/** Rules by which one event's claims are kept in the named store, and another's in the app's own. */
const book = (url: string): string => `
version: 1
stores: { other: '${url}' }
services:
  ${SERVICE}:
    lease: 30s
    events:
      far.paid: { idempotency: { pattern: dedup, store: other } }
      near.paid: { idempotency: { pattern: dedup } }
`

const inFile = (file: string, table: string): number => {
  const db = new DatabaseSync(file, { readOnly: true })
  const row = db.prepare(`SELECT count(*) AS n FROM reprieve_${table}`).get() as { n: number }
  db.close()
  return row.n
}

const eventually = { timeout: 100_000, interval: 20 }

const keepsClaims = (service: 'redis' | 'postgres', title: string, own: () => Promise<OwnServer>): void => {
  describeOwn(service, `claims kept in ${title} by the rules`, () => {
    let server: OwnServer
    beforeAll(async () => {
      server = await own()
    })
    afterAll(() => server?.close())

    it('are kept there and not in the app’s own store, and an event that comes again is done', async () => {
      const { app, seen, only, file } = await world({
        yaml: book(server.url),
        types: ['far.paid', 'near.paid'],
      })
      await app.start()
      for (let copy = 0; copy < 3; copy++) {
        await app.publish('far.paid', { n: 1 }, { id: `far-${title}` })
        await app.publish('near.paid', { n: 1 }, { id: 'near' })
        await expect.poll(() => only('done').length + only('duplicate').length, eventually).toBe(2 * copy + 2)
      }
      expect([...seen].sort()).toEqual([`far.paid far-${title}`, 'near.paid near'])
      expect(inFile(file, 'ledger')).toBe(1)
      expect(inFile(file, 'parcel')).toBe(0)
    })

    it('with the store down nothing is processed and nothing acknowledged; what others keep goes on', async () => {
      const { app, seen, only, file } = await world({
        yaml: book(server.url),
        types: ['far.paid', 'near.paid'],
      })
      await app.start()
      await server.kill()
      for (let n = 0; n < 5; n++) {
        await app.publish('far.paid', { n }, { id: `down-${n}` })
        await app.publish('near.paid', { n }, { id: `near-${n}` })
      }
      await expect.poll(() => only('done').length, eventually).toBe(5)
      await expect.poll(() => only('trouble').length, eventually).toBeGreaterThan(2)
      expect(seen.filter((each) => each.startsWith('far'))).toEqual([])
      expect(inFile(file, 'parcel')).toBe(5)
      await server.start()
      await expect.poll(() => only('done').length, eventually).toBe(10)
      expect(seen.filter((each) => each.startsWith('far')).sort()).toEqual(
        [0, 1, 2, 3, 4].map((n) => `far.paid down-${n}`),
      )
      expect(inFile(file, 'parcel')).toBe(0)
    })

    it('with the store down when the handler ends, the end is remembered once it is back, and nothing runs twice', async () => {
      const { promise: goOn, resolve: letGo } = Promise.withResolvers<void>()
      const { app, seen, only, file } = await world({
        yaml: book(server.url),
        types: ['far.paid'],
        handle: () => goOn,
      })
      await app.start()
      await app.publish('far.paid', {}, { id: 'half-way' })
      await expect.poll(() => seen.length, eventually).toBe(1)
      await server.kill()
      letGo()
      await expect.poll(() => only('trouble').length).toBeGreaterThan(3)
      expect(only('done')).toEqual([])
      expect(inFile(file, 'parcel')).toBe(1)
      await server.start()
      await expect.poll(() => only('done').length, eventually).toBe(1)
      await app.publish('far.paid', {}, { id: 'half-way' })
      await expect.poll(() => only('duplicate').length, eventually).toBe(1)
      expect(seen).toEqual(['far.paid half-way'])
    })

    it('with the store down at the end the app leaves all the same, and the next one goes on', async () => {
      const { app, file, seen } = await world({ yaml: book(server.url), types: ['far.paid'] })
      await app.start()
      await server.kill()
      await app.publish('far.paid', {}, { id: 'left-behind' })
      await app.close(500)
      expect(seen).toEqual([])
      await server.start()
      const next = await world({ yaml: book(server.url), types: ['far.paid'], transport: `sqlite:${file}` })
      await next.app.start()
      await expect.poll(() => next.seen, eventually).toEqual(['far.paid left-behind'])
    })

    it('with the store down at the start, the start says so', async () => {
      const { app } = await world({ yaml: book(server.url), types: ['far.paid'] })
      await server.kill()
      await expect(app.start()).rejects.toMatchObject({ code: 'unavailable' })
      await server.start()
    })
  })
}

keepsClaims('redis', 'Redis', ownRedis)
keepsClaims('postgres', 'PostgreSQL', ownPostgres)

describeWith('redis', 'a service with several ledgers', (redis) => {
  describeWith('postgres', 'one in Redis, one in PostgreSQL, one its own', (postgres) => {
    it('keeps each claim where the rules say', async () => {
      const tag = randomBytes(6).toString('hex')
      const yaml = `
version: 1
stores: { redis: '${redis}?prefix=${tag}', postgres: '${postgres}?schema=s_${tag}' }
services:
  ${SERVICE}:
    idempotency: { store: postgres }
    events:
      in.redis: { idempotency: { store: redis } }
      in.app: { idempotency: { store: app } }
`
      const types = ['in.redis', 'in.postgres', 'in.app']
      const { app, seen, only, file } = await world({ yaml, types })
      await app.start()
      const once = types.map((type) => ({ type, id: `${tag}-${type}` }))
      for (const { type, id } of once) await app.publish(type, {}, { id })
      await expect.poll(() => only('done').length, eventually).toBe(3)
      for (const { type, id } of once) await app.publish(type, {}, { id })
      await expect.poll(() => only('duplicate').length, eventually).toBe(3)
      expect([...seen].sort()).toEqual(once.map(({ type, id }) => `${type} ${id}`).sort())
      expect(inFile(file, 'ledger')).toBe(1)
      await app.close()
      const client = new pg.Client({ connectionString: postgres })
      await client.connect()
      await client.query(`DROP SCHEMA s_${tag} CASCADE`)
      await client.end()
    })
  })
})

describeWith('amqp', 'beside RabbitMQ', (amqp) => {
  describeWith('redis', 'a ledger in Redis', (redis) => {
    it('keeps the claims, and the store beside the broker keeps none', async () => {
      const tag = randomBytes(6).toString('hex')
      const type = `stores-${tag}.paid`
      const yaml = `
version: 1
stores: { redis: '${redis}?prefix=${tag}' }
defaults: { idempotency: { store: redis } }
`
      const { app, seen, only, file } = await world({ yaml, types: [type], transport: amqp })
      await app.start()
      for (let copy = 1; copy <= 3; copy++) {
        await app.publish(type, {}, { id: tag })
        await expect.poll(() => only('done').length + only('duplicate').length, eventually).toBe(copy)
      }
      expect(seen).toEqual([`${type} ${tag}`])
      expect(inFile(file, 'ledger')).toBe(0)
    })
  })
})

describe('stores by name', () => {
  it('without a URL are the app’s own, and the start says so', async () => {
    const yaml = 'version: 1\ndefaults: { idempotency: { store: redis } }'
    const { app, only, file } = await world({ yaml, types: ['a.b'] })
    await app.start()
    expect(only('notice')).toMatchObject([
      { text: "the rules name the store 'redis', which has no URL: the app's own store keeps its ledger" },
    ])
    await app.publish('a.b', {})
    await expect.poll(() => only('done').length, eventually).toBe(1)
    expect(inFile(file, 'ledger')).toBe(1)
  })

  it('with the URL of the app’s own store are that one', async () => {
    const file = join(folder, 'same.db')
    const yaml = `version: 1\nstores: { mine: 'sqlite:${file}' }\ndefaults: { idempotency: { store: mine } }`
    const { app, only } = await world({ yaml, types: ['a.b'], transport: `sqlite:${file}` })
    await app.start()
    await app.publish('a.b', {})
    await expect.poll(() => only('done').length, eventually).toBe(1)
    expect(only('notice')).toEqual([])
    expect(inFile(file, 'ledger')).toBe(1)
  })

  it('are opened only where a service may choose them', async () => {
    const yaml = `
version: 1
stores: { gone: 'redis://127.0.0.1:1' }
services: { other-svc: { idempotency: { store: gone } } }`
    const { app } = await world({ yaml, types: ['a.b'] })
    await expect(app.start()).resolves.toBeUndefined()
  })

  it('that can be no store are refused at the start', async () => {
    const yaml = `version: 1\nstores: { odd: 'mongodb://host' }\ndefaults: { idempotency: { store: odd } }`
    const { app } = await world({ yaml, types: ['a.b'] })
    await expect(app.start()).rejects.toMatchObject({ code: 'bad_url' })
  })
})

describeWith('redis', 'a store without letters', (url) => {
  it('is refused as transport and as the app’s own store, in words that name the way, and without the password', async () => {
    const transport = await reprieve({ transport: url }).catch((error: unknown) => error)
    expect(transport).toMatchObject({
      code: 'bad_url',
      message: expect.stringContaining("can't serve as a transport"),
    })
    const store = await reprieve({ transport: 'memory:', store: url }).catch((error: unknown) => error)
    expect(store).toMatchObject({
      code: 'bad_url',
      message: expect.stringContaining('no dead letters'),
      fix: expect.stringContaining('stores: { redis: … }, idempotency: { store: redis }'),
    })
    expect(`${transport} ${store}`).not.toContain(`:${new URL(url).password}@`)
  })
})
