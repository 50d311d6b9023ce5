import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { systemDice } from '../../src/adapters/system/dice.ts'
import { type Fact, Permanent, reprieve } from '../../src/index.ts'
import { readRules } from '../../src/rules/index.ts'
import { testApp } from '../../src/testing/index.ts'
import { describeWith } from '../services/urls.ts'
import { until } from '../until.ts'

const folder = mkdtempSync(join(tmpdir(), 'reprieve-keys-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const BOTH = 'version: 1\ndefaults: { idempotency: { key: id+correlation } }'
const unique = (what: string) => `${what}-${systemDice().uuid().slice(-12)}`

/** A dependency that knows keys has an effect for each of them, and one only. */
const proves = async (transport: string): Promise<void> => {
  const service = unique('keys')
  const type = `${service}.placed`
  const facts: Fact[] = []
  await using app = await reprieve({
    rules: readRules(BOTH, 'test.yaml'),
    transport,
    store: `sqlite:${join(folder, `${service}.db`)}`,
    journal: (fact) => facts.push(fact),
  })
  const ran: (string | undefined)[] = []
  const effects = new Map<string, string | undefined>()
  app.service(service).on(type, (event, ctx) => {
    const { correlationid } = event.extensions
    ran.push(correlationid)
    if (!effects.has(ctx.idempotencyKey)) effects.set(ctx.idempotencyKey, correlationid)
  })
  await app.start()
  for (const correlationId of ['a', 'b', 'a', 'b'])
    await app.publish(type, { n: 1 }, { id: 'x', correlationId })
  await until('all of them', () => facts.filter(({ is }) => is === 'done' || is === 'duplicate').length === 4)
  expect(ran.toSorted()).toEqual(['a', 'b'])
  expect([...effects.values()].toSorted()).toEqual(['a', 'b'])
  expect(facts.filter(({ is }) => is === 'duplicate')).toHaveLength(2)
  expect(await app.office.list({ service }, 9)).toEqual([])
}

describe('where the ledger key is of id and correlation id, two correlations of one id both have their effect, once', () => {
  it('on SQLite', async () => {
    await proves(`sqlite:${join(folder, `${unique('t')}.db`)}`)
  })

  it('and without a correlation id the key is the id', async () => {
    const app = await testApp({ yaml: BOTH })
    onTestFinished(() => app.close())
    const keys: string[] = []
    app.service('shop').on('order.placed', (_, ctx) => void keys.push(ctx.idempotencyKey))
    for (const _ of 'ab') {
      await app.publish('order.placed', { n: 1 }, { id: 'x' })
      await app.settled()
    }
    expect(keys).toEqual(['x'])
  })

  it('in a batch, and in every attempt and replay of each', async () => {
    const app = await testApp({ yaml: BOTH })
    onTestFinished(() => app.close())
    const keys: string[] = []
    let works = false
    app.service('shop').on('order.placed', (event, ctx) => {
      keys.push(ctx.idempotencyKey)
      if (!works) throw new Permanent(`not yet: ${event.id}`)
    })
    app.service('stock').onBatch('order.placed', (events) => {
      for (const { idempotencyKey } of events) keys.push(`batch ${idempotencyKey}`)
    })
    for (const correlationId of ['a', 'b'])
      await app.publish('order.placed', { n: 1 }, { id: 'x', correlationId })
    await app.settled()
    expect(keys.toSorted()).toEqual(['batch x+a', 'batch x+b', 'x+a', 'x+b'])
    works = true
    keys.length = 0
    const letters = await app.office.list({ service: 'shop' }, 9)
    await app.office.replay({ ids: letters.map(({ letter }) => letter.id) })
    await app.settled()
    expect(keys.toSorted()).toEqual(['x+a', 'x+b'])
    expect(await app.office.list({ states: ['resolved'] }, 9)).toHaveLength(2)
  })
})

describeWith('amqp', 'the same beside a broker', (url) => {
  it('on RabbitMQ', async () => {
    await proves(url)
  })
})
