import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { reprieve } from '../../src/index.ts'
import { readRules } from '../../src/rules/index.ts'
import { foreignClient } from '../rabbitmq/foreign.ts'
import { sweep } from '../rabbitmq/sweep.ts'
import { describeWith } from '../services/urls.ts'
import { until } from '../until.ts'

const folder = mkdtempSync(join(tmpdir(), 'reprieve-java-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const RULES = 'version: 1\ndefaults: { policy: { backoff: fixed, delay: 100ms, jitter: none, retries: 2 } }'
const EXCHANGE = 'reprieve.events'

describeWith('amqp', "RabbitMQ's own Java client beside us", (transport) => {
  const open = async (name: string) => {
    const rules = readRules(RULES, 'test.yaml')
    const app = await reprieve({ transport, store: `sqlite:${join(folder, `${name}.db`)}`, rules })
    onTestFinished(() => app.close())
    return app
  }

  it('what it publishes is handled, retried and buried like ours', async (test) => {
    const java = await foreignClient()
    if (typeof java === 'string') return test.skip(java)
    const name = `java-${randomUUID().slice(0, 13)}`
    onTestFinished(() => sweep(transport, name, name))
    const app = await open(name)
    const done: object[] = []
    app.service(name).on(name, ({ id, type, data, headers }, { attempt }) => {
      if (attempt === 1) throw Object.assign(new Error('busy'), { code: 'ECONNRESET' })
      if (id === 'java-2') throw new TypeError('nobody knows')
      done.push({ id, type, data, headers })
    })
    await app.start()
    await java.put(transport, EXCHANGE, name)
    const letter = await until('its letter', async () => (await app.office.list({}, 1))[0])
    await until('the others', () => done.length === 2)
    expect(letter).toMatchObject({ letter: { event: { id: 'java-2', type: name, source: '/java' } } })
    expect(done).toContainEqual({
      id: 'java-1',
      type: name,
      data: { n: 1 },
      headers: expect.objectContaining({ tenant: 'böhm', count: '7', yes: 'true' }),
    })
    expect(done).toContainEqual(expect.objectContaining({ type: name, data: 'grüß Gott' }))
  })

  it('sees an ordinary message in what we publish', async (test) => {
    const java = await foreignClient()
    if (typeof java === 'string') return test.skip(java)
    const topic = `java.${randomUUID()}`
    const app = await open('out')
    const taking = await java.take(transport, EXCHANGE, topic, 2)
    onTestFinished(() => taking.end())
    const id = await app.publish(topic, { n: 1 }, { headers: { tenant: 'böhm' }, correlationId: 'c' })
    const bytes = Buffer.from([0, 1, 0xfe, 0xff])
    await app.publish(topic, bytes)
    const [json, binary] = await taking.messages
    expect(json).toMatchObject({
      type: 'application/json',
      id,
      mode: 2,
      body: Buffer.from('{"n":1}'),
      headers: { tenant: 'böhm', 'cloudEvents:id': id, 'cloudEvents:type': topic },
    })
    expect(binary!.body).toEqual(bytes)
  })
})
