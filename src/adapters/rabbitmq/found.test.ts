import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { foundLetter } from '../../core/found.ts'
import { letterEvent } from '../../core/letter.ts'
import { readLetter } from '../../core/letter-reading.ts'
import type { Message, Properties } from './client.ts'
import { readFound } from './found.ts'
import { readMessage } from './read.ts'
import { returningMessage } from './returning.ts'

const NOW = 1_790_000_000_000
const seconds = (at: number) => ({ '!': 'timestamp', value: Math.floor(at / 1000) })

const message = (headers: Properties['headers'], more: Properties = {}, body = '{}'): Message => ({
  content: Buffer.from(body),
  properties: { ...more, headers: headers ?? {} },
  fields: { deliveryTag: 1, redelivered: false, exchange: '', routingKey: 'dead' },
})

const letterOf = (each: Message) => {
  const { parcel, broken } = readMessage(each, { queue: 'dead', topic: 'dead', mint: () => 'minted' }, NOW)
  const where = { destination: 'dead', transport: 'rabbitmq' }
  return foundLetter(parcel, broken, readFound(each), where, { replay: 'origin' }, NOW)
}

const death = (queue: string, reason: string, count = 1, more: object = {}) => ({
  queue,
  reason,
  count,
  exchange: 'shop',
  'routing-keys': ['order.placed'],
  time: seconds(NOW - 5000),
  ...more,
})

describe('what is known of a message that RabbitMQ moved', () => {
  it('tells a loop through a wait queue: the first place, and how often it was rejected', () => {
    const letter = letterOf(
      message({
        'x-first-death-queue': 'work',
        'x-first-death-reason': 'rejected',
        'x-death': [
          death('work', 'rejected', 3),
          death('wait', 'expired', 2, { exchange: 'wait', 'routing-keys': ['wait'] }),
        ],
      }),
    )
    expect(letter).toMatchObject({
      topic: 'work',
      code: 'rejected',
      trail: { spent: 3 },
      buriedAt: NOW - 5000,
      origin: { to: "the exchange 'shop' with the key 'order.placed'" },
    })
  })

  it.each([
    ['expired', 'expired', 'it lay in'],
    ['maxlen', 'handler', 'was full'],
    ['delivery_limit', 'handler', 'more often than the queue allows'],
    ['new-word', 'handler', 'gave it up: new-word'],
  ])('says what %s means', (reason, kind, text) => {
    const letter = letterOf(message({ 'x-death': [death('work', reason)] }))
    expect(letter).toMatchObject({ code: reason, kind, category: 'unknown' })
    expect(letter.error).toContain(text)
  })

  it('names the queue that a wait of ours did not find any more, and goes back to that one alone', () => {
    const trail = JSON.stringify({ spent: 2, generation: 0, counts: {}, records: [] })
    const tier = { exchange: 'reprieve.later.500', 'routing-keys': ['mail.task.created'] }
    const headers = {
      'x-reprieve-trail': trail,
      'MT-Fault-ExceptionType': 'of the event, and of no concern here',
    }
    const letter = letterOf(
      message({ ...headers, 'x-death': [death('reprieve.later.500', 'expired', 1, tier)] }),
    )
    expect(letter).toMatchObject({
      topic: 'mail.task.created',
      error: "its queue 'mail.task.created' was gone when its wait was over",
      code: 'homeless',
      kind: 'handler',
      trail: { spent: 2 },
      // to the tier it would always be taken, and lie there again
      origin: { to: "the queue 'mail.task.created'", address: { exchange: '', key: 'mail.task.created' } },
    })
  })

  it('knows which life it was, where it was a copy of ours', () => {
    const trail = JSON.stringify({ spent: 2, generation: 4, counts: {}, records: [] })
    expect(readFound(message({ 'x-reprieve-trail': trail })).generation).toBe(4)
    expect(readFound(message({ 'x-reprieve-trail': '{"generation":"x"}' })).generation).toBeUndefined()
  })

  it('is another letter when it dies again, and the same when it is only handed over again', () => {
    const once = message({ 'x-death': [death('work', 'rejected')] }, { messageId: 'm' })
    const again = message({ 'x-death': [death('work', 'rejected', 2)] }, { messageId: 'm' })
    const counted = message(
      { 'x-death': [death('work', 'rejected')], 'x-delivery-count': 4 },
      { messageId: 'm' },
    )
    expect(letterOf(counted).id).toBe(letterOf(once).id)
    expect(letterOf(again).id).not.toBe(letterOf(once).id)
  })
})

describe('what other frameworks write', () => {
  it('Spring AMQP: exception, stack and where it was published', () => {
    const stack =
      'org.springframework.amqp.ListenerExecutionFailedException: x\n\tat a.B.c\nCaused by: java.lang.IllegalArgumentException: no such sku\n\tat d.E.f'
    const letter = letterOf(
      message({
        'x-exception-message': 'no such sku',
        'x-exception-stacktrace': stack,
        'x-original-exchange': 'shop',
        'x-original-routingKey': 'order.placed',
      }),
    )
    expect(letter).toMatchObject({
      error: 'no such sku',
      category: 'permanent',
      kind: 'business',
      event: { type: 'order.placed' },
      origin: { to: "the exchange 'shop' with the key 'order.placed'" },
    })
    expect(letter.trail.records[0]?.name).toBe('java.lang.IllegalArgumentException')
  })

  it('MassTransit: exception, time, retries and queue', () => {
    const letter = letterOf(
      message({
        'MT-Fault-ExceptionType': 'System.TimeoutException',
        'MT-Fault-Message': 'too slow',
        'MT-Fault-StackTrace': 'at Shop.Consumer.Consume()',
        'MT-Fault-Timestamp': '2026-01-31T10:00:00.0000000Z',
        'MT-Fault-RetryCount': 2,
        'MT-Fault-InputAddress': 'rabbitmq://host/vhost/order-placed?temporary=false',
      }),
    )
    expect(letter).toMatchObject({
      topic: 'order-placed',
      category: 'transient',
      kind: 'timeout',
      error: 'too slow',
      stack: 'at Shop.Consumer.Consume()',
      buriedAt: Date.parse('2026-01-31T10:00:00Z'),
      trail: { spent: 3 },
      origin: { to: "the queue 'order-placed'" },
    })
  })

  it('NServiceBus: exception, time, queue and message type', () => {
    const letter = letterOf(
      message({
        'NServiceBus.MessageId': 'nsb-1',
        'NServiceBus.ExceptionInfo.ExceptionType': 'System.Exception',
        'NServiceBus.ExceptionInfo.Message': 'no',
        'NServiceBus.TimeOfFailure': '2026-01-31 10:00:00:123456 Z',
        'NServiceBus.FailedQ': 'Sales@machine',
        'NServiceBus.EnclosedMessageTypes': 'Shop.PlaceOrder, Shop, Version=1.0.0.0',
      }),
    )
    expect(letter).toMatchObject({
      event: { id: 'nsb-1', type: 'Shop.PlaceOrder' },
      topic: 'Sales',
      buriedAt: Date.parse('2026-01-31T10:00:00.123Z'),
      origin: { to: "the queue 'Sales'" },
    })
  })
})

it('whatever stands in the headers, there is a letter, and what goes back is what came', () => {
  const value = fc.oneof(
    fc.string(),
    fc.integer(),
    fc.boolean(),
    fc.jsonValue(),
    fc.uint8Array(),
    fc.constant({ toString: 1, valueOf: 2 }),
  )
  const names = fc.constantFrom(
    'x-death',
    'x-first-death-queue',
    'MT-Fault-ExceptionType',
    'plain',
    'x-exception-message',
    'x-replayed-letter',
    'x-replay-attempt',
    'x-reprieve-type',
    'x-reprieve-trail',
    'x-reprieve-due',
    'x-reprieve-broken',
    'x-reprieve-data',
    'x-reprieve-header-x',
    'x-delivery-count',
    'cloudEvents:specversion',
    'cloudEvents:id',
    'cloudEvents:type',
    '__proto__',
    'constructor',
  )
  fc.assert(
    fc.property(fc.dictionary(names, value), fc.uint8Array(), (headers, bytes) => {
      const each = { ...message(headers), content: Buffer.from(bytes) }
      const letter = letterOf(each)
      expect(readLetter(letterEvent(letter))).toMatchObject({ id: letter.id, origin: letter.origin })
      if (!letter.origin || 'nowhere' in letter.origin) return
      const back = returningMessage({ origin: letter.origin, event: letter.event, headers: {} })!
      expect(Buffer.from(back.body)).toEqual(Buffer.from(bytes))
      expect(back.options.headers.plain).toEqual(headers.plain)
    }),
  )
})
