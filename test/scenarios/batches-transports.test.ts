import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { systemClock } from '../../src/adapters/system/clock.ts'
import { type Fact, Permanent, reprieve, Transient } from '../../src/index.ts'
import { readRules } from '../../src/rules/index.ts'
import { describeWith, kafkaUrl } from '../services/urls.ts'
import { until } from '../until.ts'

const folder = mkdtempSync(join(tmpdir(), 'reprieve-batches-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let count = 0
const nameOne = () => `b${process.pid}-${Date.now()}-${count++}`

const open = async (transport: string, name = nameOne()) => {
  const rules = readRules(
    `version: 1
policies: { quick: { backoff: fixed, delay: 200ms, jitter: none, retries: 2 } }
defaults:
  policy: quick
  concurrency: 4
  demand: { poll: 100ms, atOnce: 25, min: 5, max: 15 }
  batchers:
    calm: { size: 10, timeout: 300ms, concurrency: 3, by: source }
    urgent: { size: 5, timeout: 50ms, concurrency: 2, priorities: [high, critical] }
  batch: calm`,
    'test.yaml',
  )
  const facts: Fact[] = []
  const store = `sqlite:${join(folder, `${name}.db`)}`
  const app = await reprieve({ rules, transport, store, journal: (fact) => facts.push(fact) })
  return { app, name, type: `${name}.happened`, facts }
}

const Numbered = z.object({ n: z.number() })

/** The same promises, whatever carries the events. */
const promises = (transport: () => string) => {
  it('of a batch only those that failed retry or die, and every event is accounted for', async () => {
    const { app, name, type, facts } = await open(transport())
    const calls = new Map<number, number[]>()
    const sizes: number[] = []
    app.service(name).onBatch(type, Numbered, async (events, ctx) => {
      sizes.push(events.length)
      if (ctx.batcher === 'calm') expect(new Set(events.map(({ source }) => source)).size).toBe(1)
      return events.map(({ data: { n }, attempt }) => {
        calls.set(n, [...(calls.get(n) ?? []), attempt])
        if (n % 10 === 3 && attempt === 1) return new Transient('not yet')
        if (n % 20 === 7) return new Permanent('never')
        return undefined
      })
    })
    await app.start()
    await Promise.all(
      Array.from({ length: 100 }, (_, n) =>
        app.publish(type, n === 50 ? { n: 'fifty' } : { n }, {
          id: `${name}-${n}`,
          source: n % 2 ? 'odd' : 'even',
        }),
      ),
    )
    await app.publish(type, { n: 100 }, { id: `${name}-100`, source: 'odd', priority: 'critical' })
    await until('all to end', () => facts.filter(({ is }) => is === 'done' || is === 'dead').length === 101)
    await until('the letters', async () => (await app.office.count({ service: name })) === 6)
    const letters = await app.office.list({ service: name }, 20)
    expect(letters.map(({ letter }) => [letter.event.id, letter.reason]).sort()).toEqual(
      [
        [`${name}-50`, 'undecodable'],
        ...[7, 27, 47, 67, 87].map((n) => [`${name}-${n}`, 'permanent']),
      ].sort(),
    )
    for (const n of [...Array(101).keys()].filter((each) => each !== 50)) {
      expect([n, calls.get(n)]).toEqual([n, n % 10 === 3 ? [1, 2] : [1]])
    }
    expect(Math.max(...sizes)).toBeLessThanOrEqual(10)
    expect(Math.max(...sizes)).toBeGreaterThan(1)
    expect(facts.filter((fact) => fact.is === 'batch' && fact.batcher === 'urgent')).toHaveLength(1)
    await app.close()
  })

  it('what a draining process had gathered goes to the next', async () => {
    const url = transport()
    const name = nameOne()
    const handled: string[] = []
    const leaving = Promise.withResolvers<void>()
    const begin = async (pace: number) => {
      const { app, type } = await open(url, name)
      app.service(name).onBatch(type, async (events) => {
        // however long publishing takes, most are left
        if (handled.length > 20) await leaving.promise
        await systemClock.sleep(pace)
        handled.push(...events.map(({ id, attempt }) => `${id}#${attempt}`))
      })
      await app.start()
      return { app, type }
    }
    const first = await begin(30)
    const ids = await Promise.all(
      Array.from({ length: 200 }, (_, n) => first.app.publish(first.type, { n }, { source: `s${n % 7}` })),
    )
    await until('some', () => handled.length > 0)
    const closed = first.app.close(20_000)
    leaving.resolve()
    await closed
    const byFirst = handled.length
    const second = await begin(1)
    await until('all of them', () => new Set(handled).size === 200)
    await second.app.close()
    expect(byFirst).toBeLessThan(200)
    expect(handled.toSorted()).toEqual(ids.map((id) => `${id}#1`).toSorted())
  })
}

describe('in memory', () => promises(() => `memory:batches-${process.pid}`))
describe('on SQLite', () => promises(() => `sqlite:${join(folder, `t${count}.db`)}`))
describeWith('amqp', 'on a real RabbitMQ', (url) => promises(() => url))
describeWith('kafka', 'on a real Kafka', (url) => promises(() => kafkaUrl(url)))
