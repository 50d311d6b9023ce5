import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Admin } from '@platformatic/kafka'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { type Fact, Permanent, type Reprieve, reprieve, Transient } from '../../src/index.ts'
import { describeOwnBroker, type OwnBroker, ownBroker } from '../rabbitmq/own-broker.ts'
import { describeWith, kafkaUrl } from '../services/urls.ts'
import { until } from '../until.ts'

const folder = mkdtempSync(join(tmpdir(), 'reprieve-large-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A service that fails with what is large until it is told to work, and its app. */
const shopAt = async (transport: string, topic: string, failure: () => Error) => {
  const facts: Fact[] = []
  const store = `sqlite:${join(folder, `${randomUUID()}.db`)}`
  const app = await reprieve({ transport, store, journal: (fact) => facts.push(fact) })
  onTestFinished(() => app.close())
  /** Of the large one, as its handler saw them. */
  const attempts: number[] = []
  const state = { works: false }
  app.service(`shop-${topic}`).on(topic, ({ data }, { attempt }) => {
    if (!('text' in (data as object))) return
    attempts.push(attempt)
    if (!state.works) throw failure()
  })
  await app.start()
  const done = (id: string) => facts.some((fact) => fact.is === 'done' && fact.event === id)
  return { app, attempts, state, done }
}

/** The channel of all falls once where RabbitMQ tells its limit. */
const publishOthers = async (app: Reprieve, topic: string, count: number) => {
  for (let n = 0; n < count; n++) {
    const publish = () => app.publish(topic, { n }, { id: `small-${n}` })
    await publish().catch(publish)
  }
}

const letterOf = (app: Reprieve) => until('its letter', async () => (await app.office.list({}, 9))[0])

describeOwnBroker('an event whose letter is larger than RabbitMQ takes', () => {
  /** In bytes: the event fits, its letter does not. */
  const LIMIT = 20_000
  const data = { text: 'x'.repeat(LIMIT - 100) }
  let own: OwnBroker
  beforeAll(async () => {
    own = await ownBroker([`max_message_size = ${LIMIT}`])
  })
  afterAll(() => own?.close())

  it('dies in the store, with its whole story, beside others that go on; and has its second chance', async () => {
    const { app, attempts, state, done } = await shopAt(
      own.url,
      'order.placed',
      () => new Permanent('no such order'),
    )
    await app.publish('order.placed', data, { id: 'large' })
    await publishOthers(app, 'order.placed', 20)
    const { letter } = await letterOf(app)
    await until('the others', () => Array.from({ length: 20 }, (_, n) => done(`small-${n}`)).every(Boolean))
    expect(letter).toMatchObject({ reason: 'permanent', error: 'no such order', trail: { spent: 1 } })
    expect(Buffer.from((await app.office.show(letter.id)).letter.event.data!)).toEqual(
      Buffer.from(JSON.stringify(data)),
    )
    // once where it came in, once where it could be buried
    expect(attempts).toEqual([1, 1])
    state.works = true
    await app.office.replay({ ids: [letter.id] }, { as: 'ann' })
    await until('its second chance', () => done('large'))
    expect(attempts).toHaveLength(3)
    await until('the receipt', async () => (await app.office.show(letter.id)).state === 'resolved')
  })
})

describeWith('kafka', 'an event larger than a retry topic takes', (brokers) => {
  it('waits in the store, as often as its policy says, and is done', async () => {
    const topic = `large-${randomUUID().slice(0, 13)}`
    const admin = new Admin({ clientId: 'test', bootstrapBrokers: brokers.split(','), timeout: 30_000 })
    onTestFinished(() => admin.close())
    const retries = ['1s', '5s', '30s', '2m', '10m', '1h'].map((tier) => `shop-${topic}.retry.${tier}`)
    const configs = [{ name: 'max.message.bytes', value: '20000' }]
    // made by somebody who did not know how large events become
    await admin.createTopics({ topics: retries, partitions: 3, replicas: 1, configs })
    const { app, attempts, state, done } = await shopAt(
      kafkaUrl(brokers),
      topic,
      () => new Transient('not yet'),
    )
    await app.publish(topic, { text: 'x'.repeat(40_000) }, { id: 'large' })
    await publishOthers(app, topic, 20)
    await until('the others', () => Array.from({ length: 20 }, (_, n) => done(`small-${n}`)).every(Boolean))
    await until('its second attempt', () => attempts.length === 2)
    state.works = true
    await until('its end', () => done('large'))
    expect(attempts).toEqual([1, 2, 3])
    expect(await app.office.count({})).toBe(0)
  })
})
