import { describe, expect, it } from 'vitest'
import { describeWith, kafkaUrl } from '../services/urls.ts'
import { type CrashOptions, crashTest } from './crash.ts'

/** With workers killed again and again, every event is done or dead in the end, and none is missing. */
const survives = (options: Omit<CrashOptions, 'patience'>) => async () => {
  const result = await crashTest({ ...options, patience: 150_000 })
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
  it('lose no event on SQLite', survives({ transport: 'sqlite', events: 5000, kills: 6 }), 180_000)
})

describeWith('amqp', 'workers killed with SIGKILL on a real RabbitMQ', (url) => {
  it('lose no event on RabbitMQ', survives({ transport: url, events: 5000, kills: 6 }), 180_000)
})

describeWith('kafka', 'workers killed with SIGKILL on a real Kafka', (url) => {
  it('lose no event on Kafka', survives({ transport: kafkaUrl(url), events: 5000, kills: 3 }), 180_000)
})
