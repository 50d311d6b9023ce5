import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { Permanent, type PlanOptions, reprieve } from '../../src/index.ts'
import { readRules } from '../../src/rules/index.ts'
import { sweep } from '../rabbitmq/sweep.ts'
import { describeWith } from '../services/urls.ts'
import { until } from '../until.ts'

const folder = mkdtempSync(join(tmpdir(), 'reprieve-elsewhere-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Call {
  readonly by: string
  readonly id: string
  readonly key: string
  readonly headers: Readonly<Record<string, string>>
}

const elsewhere = (transportOf: (name: string) => string, shared?: string): void => {
  it('goes to a service that never had it, or anew to all that are subscribed, where that is asked', async () => {
    const name = `else-${randomUUID().slice(0, 8)}`
    const [failing, other, type] = [`${name}-a`, `${name}-b`, `${name}.happened`]
    if (shared) onTestFinished(() => sweep(shared, failing, type).then(() => sweep(shared, other, type)))
    const options = { transport: transportOf(name), store: `sqlite:${join(folder, `${name}.db`)}` }

    const before = await reprieve(options)
    before.service(failing).on(type, () => {
      throw new Permanent('no box')
    })
    await before.start()
    await before.publish(type, { n: 1 }, { id: `${name}-1` })
    await before.publish(
      type,
      { n: 2 },
      {
        ...{
          id: `${name}-2`,
          headers: { 'X-Idempotency-Key': 'odd', 'x-idempotency-key': 'mine', kept: 'yes' },
        },
      },
    )
    const letters = await until('two letters', async () => {
      const found = await before.office.list({ service: failing }, 3)
      return found.length === 2 && found.map(({ letter }) => letter)
    })
    await before.close()

    const app = await reprieve(options)
    const calls: Call[] = []
    for (const by of [failing, other])
      app.service(by).on(type, ({ id, headers }, { idempotencyKey: key }) => {
        calls.push({ by, id, key, headers })
      })
    await app.start()
    const { operations } = app.office
    const send = async (event: string, to: NonNullable<PlanOptions['to']>) => {
      const ids = letters.filter((letter) => letter.event.id === event).map(({ id }) => id)
      const { id } = (await operations.plan({ ids }, { to })).operation
      await operations.start(id)
      const done = await until('the end of it', async () => {
        const kept = await operations.show(id)
        return kept.operation.state === 'done' && kept
      })
      expect(done.counts).toMatchObject({ resolved: 1, failed: 0, skipped: 0 })
      return id
    }

    await send(`${name}-1`, { service: other })
    expect(calls).toMatchObject([{ by: other, id: `${name}-1`, key: `${name}-1` }])
    expect(calls[0]!.headers).toMatchObject({ 'x-original-id': `${name}-1`, 'x-replay-attempt': '1' })

    const anew = `${name}-2~${await send(`${name}-2`, 'topic')}`
    await until('both to have it', () => calls.length === 3)
    expect(
      calls
        .slice(1)
        .map(({ by, id, key }) => [by, id, key])
        .sort(),
    ).toEqual([
      [failing, anew, anew],
      [other, anew, anew],
    ])
    for (const { headers } of calls.slice(1)) {
      expect(headers).toMatchObject({
        ...{ kept: 'yes', 'x-replayed': 'true', 'x-original-id': `${name}-2` },
        ...{ 'x-idempotency-key': anew, 'x-replay-attempt': '1' },
      })
      expect(headers).not.toHaveProperty('X-Idempotency-Key')
    }
    await app.close()
  })

  it('to a service that has no handler for it any more is dead again, and says so', async () => {
    const name = `else-${randomUUID().slice(0, 8)}`
    const [service, topic] = [`${name}-a`, `${name}.orders`]
    const [gone, other] = [`${topic}.gone`, `${topic}.other`]
    if (shared) onTestFinished(() => sweep(shared, service, topic))
    const rules = readRules(
      JSON.stringify({ version: 1, topics: { [topic]: [gone, other] } }),
      'test.yaml',
      {},
    )
    const options = { transport: transportOf(name), store: `sqlite:${join(folder, `${name}.db`)}`, rules }

    const before = await reprieve(options)
    before.service(service).on(gone, () => {
      throw new Permanent('no box')
    })
    await before.start()
    await before.publish(gone, { n: 1 }, { id: name })
    const [first] = await until('its letter', async () => {
      const found = await before.office.list({ service }, 1)
      return found.length === 1 && found
    })
    await before.close()

    const app = await reprieve(options)
    app.service(service).on(other, () => {})
    await app.start()
    // what is new is none of its business, where it comes at all
    await app.publish(gone, { n: 2 }).catch(({ code }) => expect(code).toBe('unheard'))
    const { operations } = app.office
    const { id } = (await operations.plan({ ids: [first!.letter.id] }, {})).operation
    await operations.start(id)
    const { counts } = await until('the end of it', async () => {
      const kept = await operations.show(id)
      return kept.operation.state === 'done' && kept
    })
    expect(counts).toMatchObject({ 'dead again': 1, resolved: 0 })
    const [again, ...more] = await app.office.list({ service, states: ['open'] }, 3)
    expect(more).toEqual([])
    expect(again!.letter).toMatchObject({
      event: { id: name },
      reason: 'permanent',
      error: expect.stringContaining(`no handler that takes '${gone}'`),
    })
    await app.close()
  })
}

describe('a replay to elsewhere, on SQLite', () => {
  elsewhere((name) => `sqlite:${join(folder, `${name}.db`)}`)
})

describeWith('amqp', 'a replay to elsewhere, on RabbitMQ', (url) => elsewhere(() => url, url))
