import { afterAll, beforeAll, expect, it } from 'vitest'
import { deskAt } from '../../../test/rabbitmq/desk.ts'
import { describeOwnBroker, type OwnBroker, ownBroker } from '../../../test/rabbitmq/own-broker.ts'
import { describeWith } from '../../../test/services/urls.ts'
import { systemClock } from '../system/clock.ts'
import { systemDice } from '../system/dice.ts'
import { IMPOSSIBLE_AGE } from './doctor-foreign.ts'
import { doctor } from './index.ts'

const tools = { clock: systemClock, dice: systemDice(), journal: () => {} }
const HOUR = 3_600_000
const KEEP = 7 * 24 * HOUR

const examine = async (url: string, name: string) => {
  const findings = await doctor.examine(url, { subscriptions: [], foreign: [{ name, keep: KEEP }] }, tools)
  return findings.filter(({ where }) => where === `queue ${name}`)
}
const told = async (url: string, name: string) =>
  (await examine(url, name)).map(({ level, what, why }) => `${level}: ${what}${why ? ` — ${why}` : ''}`)

describeWith('amqp', 'the doctor of foreign queues on RabbitMQ', (url) => {
  const desk = deskAt(url)
  const declared = async (options: object): Promise<string> => {
    const name = desk.queue('foreign')
    await (await desk.channel()).assertQueue(name, options)
    return name
  }
  const quorum = (args: object = {}) => ({ arguments: { 'x-queue-type': 'quorum', ...args } })

  it('one that is missing is told, and not made', async () => {
    const name = desk.queue('foreign')
    expect(await examine(url, name)).toEqual([
      expect.objectContaining({
        check: 'rabbitmq-foreign',
        level: 'risky',
        what: 'it is not there',
        fix: expect.stringMatching(/mend its name under foreign/),
      }),
    ])
    await expect((await desk.channel()).checkQueue(name)).rejects.toThrow(/NOT.FOUND/)
  })

  it.each(['classic', 'quorum'])(
    'what a %s queue is asked can make none, were it just deleted',
    async (type) => {
      const name = desk.queue('foreign')
      const asked = { durable: true, arguments: { 'x-queue-type': type, ...IMPOSSIBLE_AGE } }
      await expect((await desk.channel()).assertQueue(name, asked)).rejects.toThrow(/PRECONDITION/)
      await expect((await desk.channel()).checkQueue(name)).rejects.toThrow(/NOT.FOUND/)
    },
  )

  it.each([
    ['classic', { durable: true, arguments: { 'x-max-priority': 3, 'x-message-ttl': KEEP } }],
    ['quorum', quorum({ 'x-delivery-limit': 5000, 'x-dead-letter-exchange': 'other' })],
  ])('a %s queue that drops nothing is fine, and stays as it is', async (_, options) => {
    const name = await declared(options)
    const channel = await desk.channel()
    channel.sendToQueue(name, Buffer.from('{}'))
    await expect.poll(async () => (await channel.checkQueue(name)).messageCount).toBe(1)
    expect(await told(url, name)).toEqual([expect.stringMatching(/^fine: .*drops nothing by its own/)])
    expect(await channel.checkQueue(name)).toMatchObject({ messageCount: 1, consumerCount: 0 })
  })

  it.each([
    [
      'a time to live',
      quorum({ 'x-delivery-limit': 5000, 'x-message-ttl': HOUR }),
      [/x-message-ttl is 1 hour — .*is gone/],
    ],
    [
      'a time to live that passes on',
      { durable: true, arguments: { 'x-message-ttl': 5000, 'x-dead-letter-exchange': 'next' } },
      [/x-message-ttl is 5 seconds — .*passed on to the exchange 'next'/],
    ],
    [
      'an end when nobody is there',
      { durable: true, expires: 2 * HOUR },
      [/x-expires is 2 hours — the queue itself/],
    ],
    [
      'a length',
      { durable: true, maxLength: 1000, arguments: { 'x-max-length-bytes': 9_000_000 } },
      [/x-max-length is 1000 — when it is full the oldest/, /x-max-length-bytes is 9000000/],
    ],
    [
      'a length that refuses',
      { durable: true, maxLength: 10, arguments: { 'x-overflow': 'reject-publish' } },
      [/x-max-length is 10 — when it is full new letters are refused/],
    ],
    ['a delivery limit', quorum({ 'x-delivery-limit': 5 }), [/delivery limit is 5 — .*is gone/]],
    ['no durability', { durable: false }, [/not durable/]],
    [
      'an end with its last consumer',
      { durable: true, autoDelete: true },
      [/deleted with its last consumer/],
    ],
  ] as const)('%s is told with what it drops', async (_, options, texts) => {
    const lines = await told(url, await declared(options))
    expect(lines).toEqual(texts.map((text) => expect.stringMatching(text)))
    for (const line of lines) expect(line).toMatch(/^risky: /)
  })

  it('a queue of one connection can be no source of letters', async () => {
    const name = await declared({ exclusive: true, durable: false })
    expect(await told(url, name)).toEqual([expect.stringMatching(/^wrong: it belongs to one connection/)])
  })

  it('a stream can be no source of letters', async () => {
    const name = await declared({ durable: true, arguments: { 'x-queue-type': 'stream' } })
    expect(await told(url, name)).toEqual([expect.stringMatching(/^wrong: it is a stream/)])
  })
})

describeOwnBroker('the doctor of foreign queues, by its users and its version', () => {
  let own: OwnBroker
  const desk = deskAt(() => own.url)
  beforeAll(async () => {
    own = await ownBroker()
    await own.control('add_user', 'reader', 'reader')
  })
  afterAll(() => own?.close())

  it('tells who may not read, and what is hidden from whoever may only read', async () => {
    await (await desk.channel()).assertQueue('theirs', { durable: true, messageTtl: 1000 })
    const as = own.url.replace(/\/\/.*@/, '//reader:reader@')
    await own.control('set_permissions', 'reader', '^$', '^$', '^$')
    expect(await examine(as, 'theirs')).toEqual([
      expect.objectContaining({ check: 'rabbitmq-permissions', what: 'the user lacks the read permission' }),
    ])
    await own.control('set_permissions', 'reader', '^$', '^$', '.*')
    expect(await told(as, 'theirs')).toEqual([expect.stringMatching(/^fine: .*users who may configure it/)])
  })

  it('a quorum queue without a limit has one of 20 from RabbitMQ 4 on', async () => {
    await (await desk.channel()).assertQueue('bare', { arguments: { 'x-queue-type': 'quorum' } })
    const since4 = [expect.stringMatching(/^risky: its delivery limit is 20, the default from RabbitMQ 4/)]
    const before = [expect.stringMatching(/^fine: /)]
    expect(await told(own.url, 'bare')).toEqual(Number.parseInt(own.version, 10) >= 4 ? since4 : before)
  })
})
