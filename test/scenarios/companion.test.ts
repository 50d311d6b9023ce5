import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/adapters/system/clock.ts'
import { type Fact, later, reprieve } from '../../src/index.ts'
import { describeWith, kafkaUrl } from '../services/urls.ts'
import { until } from '../until.ts'

const folder = mkdtempSync(join(tmpdir(), 'reprieve-companion-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A wait longer than the broker keeps moves to the store, and comes back to the same handler from there. */
const waitsLong = async (transport: string, name: string): Promise<void> => {
  let ahead = 0
  const clock = { ...systemClock, now: () => systemClock.now() + ahead }
  const facts: Fact[] = []
  const file = join(folder, `${name}.db`)
  const service = `patient-${process.pid}-${Date.now()}`
  const app = await reprieve({
    transport,
    store: `sqlite:${file}`,
    clock,
    journal: (fact) => facts.push(fact),
  })
  const attempts: number[] = []
  app.service(service).on(`${service}.asked`, (_, ctx) => {
    attempts.push(ctx.attempt)
    return attempts.length === 1 ? later('3h', 'not today') : undefined
  })
  await app.start()
  await app.publish(`${service}.asked`, { n: 1 })
  await until('it to be held', () => facts.some(({ is }) => is === 'held'))

  const store = new DatabaseSync(file, { readOnly: true })
  const waiting = store.prepare('SELECT event, due FROM reprieve_parcel').all() as { due: number }[]
  store.close()
  expect(waiting).toHaveLength(1)
  expect(waiting[0]!.due - clock.now()).toBeGreaterThan(2.9 * 3_600_000)

  ahead = 3 * 3_600_000 + 1000
  await until('its end', () => facts.some(({ is }) => is === 'done'))
  expect(attempts).toEqual([1, 1])
  await app.close()
}

describeWith('amqp', 'the companion beside RabbitMQ', (url) => {
  it('keeps a wait that RabbitMQ can not keep', () => waitsLong(url, 'rabbitmq'))
})

describeWith('kafka', 'the companion beside Kafka', (url) => {
  it('keeps a wait that Kafka can not keep', () => waitsLong(kafkaUrl(url), 'kafka'))
})

describe('without a companion', () => {
  it('SQLite keeps every wait itself', async () => {
    const app = await reprieve({ transport: `sqlite:${join(folder, 'alone.db')}` })
    expect(app.transport.can.later).toBe(Number.POSITIVE_INFINITY)
    await app.close()
  })
})
