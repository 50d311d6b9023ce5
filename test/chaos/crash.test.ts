import { describe, expect, it, onTestFinished } from 'vitest'
import { describeWith, kafkaUrl } from '../services/urls.ts'
import { describeOwn, ownPostgres } from '../stores/own-server.ts'
import { ownSchema } from '../stores/postgres.ts'
import { type CrashOptions, crashTest } from './crash.ts'
import { PATIENCE } from './patience.ts'

/** With workers killed again and again, every event is done or dead in the end, and none is missing. */
const survives = (options: Omit<CrashOptions, 'patience'>) => async () => {
  const result = await crashTest({ ...options, patience: PATIENCE })
  console.log(
    `crash test on ${options.transport.split(':')[0]}: ${JSON.stringify({ ...result, missing: result.missing.length })}`,
  )
  expect(result.missing).toEqual([])
  expect(result.done + result.dead).toBeGreaterThanOrEqual(options.events)
  expect(result.done).toBeGreaterThan(options.events * 0.8)
  expect(result.dead).toBeGreaterThan(0)
  expect(result.kills).toBe(options.kills)
}

describe('workers killed with SIGKILL', () => {
  it('lose no event on SQLite', survives({ transport: 'sqlite', events: 5000, kills: 6 }))
})

describeWith('amqp', 'workers killed with SIGKILL on a real RabbitMQ', (url) => {
  it('lose no event on RabbitMQ', survives({ transport: url, events: 5000, kills: 6 }))
})

describeWith('kafka', 'workers killed with SIGKILL on a real Kafka', (url) => {
  it('lose no event on Kafka', survives({ transport: kafkaUrl(url), events: 5000, kills: 3 }))
})

describeWith('postgres', 'workers killed with SIGKILL on a real PostgreSQL', (url) => {
  it('lose no event on PostgreSQL', () => survives({ transport: ownSchema(url), events: 5000, kills: 6 })())
})

describeOwn('postgres', 'a PostgreSQL that carries events, killed with SIGKILL and started again', () => {
  it('loses no event while two workers take from it', async () => {
    const server = await ownPostgres()
    onTestFinished(() => server.close())
    const blow = async () => {
      await server.kill()
      await server.start()
    }
    await survives({ transport: `${server.url}?schema=reprieve`, events: 2000, kills: 3, blow })()
  })
})
