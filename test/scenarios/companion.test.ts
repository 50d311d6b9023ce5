import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, describe, expect, it } from 'vitest'
import { open } from '../../src/adapters/memory/index.ts'
import { systemClock } from '../../src/adapters/system/clock.ts'
import { systemDice } from '../../src/adapters/system/dice.ts'
import { type Fact, later, reprieve } from '../../src/index.ts'
import { openTransport } from '../../src/open.ts'
import { readRules } from '../../src/rules/index.ts'
import { createApp } from '../../src/runtime/app.ts'
import { testTools } from '../../src/testing/tools.ts'
import { withoutClaims } from '../../src/testing/without-claims.ts'
import { describeWith, kafkaUrl } from '../services/urls.ts'
import { ownSchema, plainly } from '../stores/postgres.ts'
import { until } from '../until.ts'

const folder = mkdtempSync(join(tmpdir(), 'reprieve-companion-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const HOUR = 3_600_000

type Rows = readonly Readonly<Record<string, unknown>>[]

/** A wait longer than the broker keeps moves to the store, and comes back to the same handler from there. */
const waitsLong = async (transport: string, store: string, waits: () => Promise<Rows>): Promise<void> => {
  let ahead = 0
  const clock = { ...systemClock, now: () => systemClock.now() + ahead }
  const facts: Fact[] = []
  const service = `patient-${process.pid}-${Date.now()}`
  const app = await reprieve({ transport, store, clock, journal: (fact) => facts.push(fact) })
  const attempts: number[] = []
  app.service(service).on(`${service}.asked`, (_, ctx) => {
    attempts.push(ctx.attempt)
    return attempts.length === 1 ? later('3h', 'not today') : undefined
  })
  try {
    await app.start()
    await app.publish(`${service}.asked`, { n: 1 })
    await until('it to be held', () => facts.some(({ is }) => is === 'held'))

    const waiting = await waits()
    expect(waiting).toHaveLength(1)
    expect(Number(waiting[0]!.due) - clock.now()).toBeGreaterThan(2.9 * HOUR)

    ahead = 3 * HOUR + 1000
    await until('its end', () => facts.some(({ is }) => is === 'done'))
    expect(attempts).toEqual([1, 1])
  } finally {
    await app.close()
  }
}

const besideFile = async (transport: string, name: string): Promise<void> => {
  const file = join(folder, `${name}.db`)
  await waitsLong(transport, `sqlite:${file}`, async () => {
    const store = new DatabaseSync(file, { readOnly: true })
    const rows = store.prepare('SELECT due FROM reprieve_parcel').all()
    store.close()
    return rows
  })
}

const besidePostgres = async (transport: string, url: string): Promise<void> => {
  const store = ownSchema(url)
  await waitsLong(transport, store, () => plainly(store, 'SELECT due FROM parcel'))
}

describeWith('amqp', 'the companion beside RabbitMQ', (url) => {
  it('keeps a wait that RabbitMQ can not keep', () => besideFile(url, 'rabbitmq'))

  describeWith('postgres', 'in PostgreSQL', (store) => {
    it('keeps a wait that RabbitMQ can not keep, for any host', () => besidePostgres(url, store))
  })
})

describeWith('kafka', 'the companion beside Kafka', (url) => {
  it('keeps a wait that Kafka can not keep', () => besideFile(kafkaUrl(url), 'kafka'))

  describeWith('postgres', 'in PostgreSQL', (store) => {
    it('keeps a wait that Kafka can not keep, for any host', () => besidePostgres(kafkaUrl(url), store))
  })
})

/** The store keeps no parcels: the broker keeps a long wait itself, again and again, and nobody is bothered. */
const waitsAlone = async (url: string, turn: number): Promise<void> => {
  let ahead = 0
  const clock = { ...systemClock, now: () => systemClock.now() + ahead }
  const facts: Fact[] = []
  const tools = { clock, dice: systemDice(), journal: (fact: Fact) => void facts.push(fact) }
  const service = `alone-${process.pid}-${Date.now()}`
  const { transport } = await openTransport(url, tools)
  const { companion: _, ...store } = (await open('memory:', tools)).store!
  const app = createApp({ book: readRules('version: 1', 'empty.yaml'), transport, store, tools })
  const attempts: number[] = []
  app.service(service).on(`${service}.asked`, (_, ctx) => {
    attempts.push(ctx.attempt)
    return attempts.length === 1 ? later('3h', 'not today') : undefined
  })
  try {
    await app.start()
    await app.publish(`${service}.asked`, { n: 1 })
    await until('it to be held', () => facts.some(({ is }) => is === 'held'))
    expect(facts.filter((fact) => fact.is === 'trouble' && fact.where.startsWith('settling'))).toEqual([])
    expect(attempts).toEqual([1])
    if (turn > 0) {
      ahead = turn
      await until('its end', () => facts.some(({ is }) => is === 'done'))
      expect(attempts).toEqual([1, 1])
    }
  } finally {
    await app.drain()
    await transport.close()
  }
}

describeWith('amqp', 'RabbitMQ beside a store that keeps no parcels', (url) => {
  // its tiers keep real time: that a parcel waits again when it is home too early is tried beside the adapter
  it('keeps a wait longer than its longest tier', () => waitsAlone(url, 0))
})

describeWith('kafka', 'Kafka beside a store that keeps no parcels', (url) => {
  it('keeps a wait longer than its longest tier', () => waitsAlone(kafkaUrl(url), 3 * HOUR + 1000))
})

describe('without a companion', () => {
  it('an event waits for as long as its policy says, runs as often as that grants, and no more', async () => {
    const tools = testTools()
    const { clock, facts } = tools
    const opened = await open('memory:', tools)
    const whole = withoutClaims(opened.transport!)
    const { companion: _, ...store } = opened.store!
    const book = readRules(
      `version: 1
defaults: { policy: slow }
policies:
  slow: { backoff: fixed, delay: 2h, jitter: none, retries: 2, window: 1d }
`,
      'slow.yaml',
    )
    const transport = { ...whole, can: { ...whole.can, later: HOUR } }
    const app = createApp({ book, transport, store, tools })
    const ran: string[] = []
    app.service('mail').on('asked', ({ id }, { attempt }) => {
      ran.push(`${id} ${clock.now() / HOUR} ${attempt}`)
      if (id === 'failing') throw new Error('not today')
      return ran.filter((line) => line.startsWith('held')).length < 2 ? later('3h', 'closed') : undefined
    })
    await clock.runUntil(app.start())
    await app.publish('asked', {}, { id: 'failing' })
    await app.publish('asked', {}, { id: 'held' })
    await clock.advance(12 * HOUR)
    const began = ran[0]!.split(' ')[1]!
    const at = (hours: number) => Number(began) + hours
    expect(ran.toSorted()).toEqual(
      [
        `failing ${at(0)} 1`,
        `failing ${at(2)} 2`,
        `failing ${at(4)} 3`,
        `held ${at(0)} 1`,
        `held ${at(3)} 1`,
      ].toSorted(),
    )
    expect(facts.filter(({ is }) => is === 'trouble')).toEqual([])
    expect(facts.filter(({ is }) => is === 'dead')).toHaveLength(1)
    await clock.runUntil(app.drain())
  })

  it('SQLite keeps every wait itself', async () => {
    const app = await reprieve({ transport: `sqlite:${join(folder, 'alone.db')}` })
    expect(app.transport.can.later).toBe(Number.POSITIVE_INFINITY)
    await app.close()
  })
})
