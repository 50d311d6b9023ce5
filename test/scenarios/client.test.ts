import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Admin } from '@platformatic/kafka'
import { connect } from 'amqplib'
import { afterAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { systemClock } from '../../src/adapters/system/clock.ts'
import { systemDice } from '../../src/adapters/system/dice.ts'
import type { Tools } from '../../src/contracts/tools.ts'
import type { Transport } from '../../src/contracts/transport.ts'
import type { Letter } from '../../src/core/letter.ts'
import { readLetter } from '../../src/core/letter-reading.ts'
import {
  type Client,
  type ClientOptions,
  client,
  dead,
  later,
  Permanent,
  Transient,
} from '../../src/index.ts'
import { openUrl } from '../../src/open.ts'
import { readRules } from '../../src/rules/index.ts'
import { testTools } from '../../src/testing/index.ts'
import { describeWith, kafkaUrl } from '../services/urls.ts'

interface World {
  readonly url: string
  readonly tools: Tools
  /** Lets time pass until it has settled. */
  readonly run: <T>(promise: Promise<T>) => Promise<T>
  /** How long a message that is there may take to come, and how late it may be. */
  readonly patience: number
}

const virtual = (url: string): World => {
  const tools = testTools()
  return { url, tools, run: (promise) => tools.clock.runUntil(promise), patience: 60_000 }
}

const real = (url: string): World => ({
  url,
  tools: { clock: systemClock, dice: systemDice(), journal: () => undefined },
  run: (promise) => promise,
  patience: 20_000,
})

const run = randomUUID().slice(0, 8)
let count = 0

/** A queue of its own for each test, and the letters that were buried there. */
const desk = async (
  { url, tools, run: pass, patience }: World,
  options: Partial<ClientOptions<unknown>> = {},
) => {
  const name = `client-${run}-${++count}`
  const transport = (await openUrl(url, tools)).transport!
  const all = {
    topic: `${name}.topic`,
    service: name,
    policy: { initial: 100, jitter: 'none', attempts: 3 } as const,
    ...tools,
    ...options,
  }
  const queue: Client<unknown> = await pass(client(transport, all))
  const another = () => pass(client(transport, all))
  const one = async (from = queue) => {
    const [message, ...more] = await pass(from.receive(1, { wait: patience }))
    expect(more).toEqual([])
    return message!
  }
  const none = async (wait = 300) => expect(await pass(queue.receive(10, { wait }))).toEqual([])
  const close = async () => {
    await pass(queue.close())
    await pass(transport.close())
  }
  const letter = () => pass(letterAt(transport, options.deadLetter ?? `_${name}.deadletter`))
  return { name, queue, another, one, none, letter, close, transport, pass, now: tools.clock.now }
}

const letterAt = async (transport: Transport, destination: string): Promise<Letter> => {
  const inlet = await transport.collect({ name: destination })
  const [delivery] = await inlet.receive(1, new AbortController().signal)
  await inlet.settle([{ do: 'ack', delivery: delivery! }])
  await inlet.close()
  return readLetter(delivery!.parcel.event)!
}

/** The same promises, whatever carries the events. */
const promises = (world: () => World) => {
  it.concurrent('sends and receives, and what is acknowledged is over', async () => {
    const { queue, one, none, close, pass, name } = await desk(world())
    const ids = await pass(
      queue.send([{ data: { n: 1 }, orderKey: 'k-1', correlationId: 'c-1' }, { data: 2 }]),
    )
    const first = await one()
    const second = await one()
    expect([first.event.id, second.event.id].sort()).toEqual([...ids].sort())
    const message = first.event.id === ids[0] ? first : second
    expect(message).toMatchObject({ attempt: 1, redelivered: false, idempotencyKey: ids[0] })
    expect(message.event).toMatchObject({
      type: `${name}.topic`,
      source: name,
      data: { n: 1 },
      extensions: { orderkey: 'k-1', correlationid: 'c-1' },
    })
    expect(await pass(queue.acknowledge(first.receipt))).toBe('done')
    expect(await pass(queue.acknowledge(second.receipt))).toBe('done')
    expect(await pass(queue.acknowledge(first.receipt))).toBe('lost')
    expect(await pass(queue.reject(first.receipt))).toEqual({ is: 'lost' })
    await none()
    await close()
  })

  it.concurrent('sees again what was rejected, later by the policy, until that grants no more: then a dead letter', async () => {
    const { queue, one, none, letter, close, pass, now, name } = await desk(world(), {
      deadLetter: `dlq-${run}-${count}`,
    })
    const sent = now()
    const id = await pass(queue.send({ data: { n: 1 } }))
    let message = await one()
    for (const [attempt, wait] of [
      [1, 100],
      [2, 200],
    ] as const) {
      expect(message).toMatchObject({ event: { id }, attempt })
      const ended = await pass(queue.reject(message.receipt, new Transient(`failure ${attempt}`)))
      if (ended.is !== 'later') throw new Error(ended.is)
      expect(ended.due).toBeGreaterThanOrEqual(sent + wait)
      message = await one()
      expect(now()).toBeGreaterThanOrEqual(ended.due)
    }
    expect(message.trail.records.map(({ error }) => error)).toEqual(['failure 1', 'failure 2'])
    const last = await pass(queue.reject(message.receipt, new Transient('failure 3')))
    const buried = await letter()
    expect(last).toEqual({
      is: 'dead',
      letter: buried.id,
      reason: 'attempts exhausted',
      to: buried.destination,
    })
    expect(buried).toMatchObject({
      event: { id },
      service: name,
      topic: `${name}.topic`,
      error: 'failure 3',
      category: 'transient',
      trail: { spent: 3 },
      limit: 3,
    })
    expect(Buffer.from(buried.event.data!).toString()).toBe('{"n":1}')
    expect(buried.buriedAt).toBeGreaterThanOrEqual(sent)
    await none()
    await close()
  })

  it.concurrent('buries at once what is permanent or refused, and spends nothing on what is put off', async () => {
    const { queue, one, none, letter, close, pass } = await desk(world())
    await pass(queue.send({ data: 1 }))
    const first = await one()
    expect(await pass(queue.reject(first.receipt, later(50, 'closed')))).toMatchObject({ is: 'later' })
    const again = await one()
    expect(again.attempt).toBe(1)
    expect(await pass(queue.reject(again.receipt, new Permanent('no such user')))).toMatchObject({
      is: 'dead',
      reason: 'permanent',
    })
    expect(await letter()).toMatchObject({ error: 'no such user', trail: { spent: 1 } })
    await pass(queue.send({ data: 2 }))
    expect(await pass(queue.reject((await one()).receipt, dead('the account is closed')))).toMatchObject({
      is: 'dead',
      reason: 'refused',
    })
    await none()
    await close()
  })

  it.concurrent('gives back what is held for too long: it stays retryable, with no attempt spent', async () => {
    const { queue, one, close, pass } = await desk(world(), { hold: 200 })
    await pass(queue.send({ data: 1 }))
    const first = await one()
    const again = await one()
    expect(first.signal.aborted).toBe(true)
    expect(again).toMatchObject({ attempt: 1, redelivered: true, event: { id: first.event.id } })
    expect(again.receipt).not.toBe(first.receipt)
    expect(await pass(queue.acknowledge(first.receipt))).toBe('lost')
    expect(await pass(queue.acknowledge(again.receipt))).toBe('done')
    await close()
  })

  it.concurrent('gives back what it is told to, and what it still holds when it closes', async () => {
    const { queue, another, one, close, pass } = await desk(world())
    const id = await pass(queue.send({ data: 1 }))
    expect(await pass(queue.giveBack((await one()).receipt))).toBe('given back')
    const held = await one()
    expect(held).toMatchObject({ attempt: 1, redelivered: true })
    const other = await another()
    await pass(queue.close())
    expect(held.signal.aborted).toBe(true)
    const taken = await one(other)
    expect(taken).toMatchObject({ event: { id }, attempt: 1, redelivered: true })
    expect(await pass(other.acknowledge(taken.receipt))).toBe('done')
    await pass(other.close())
    await close()
  })

  it.concurrent('buries what its schema does not fit, and hands over the rest', async () => {
    const { queue, one, letter, close, pass } = await desk(world(), { schema: z.object({ n: z.number() }) })
    await pass(queue.send([{ data: { n: 'one' } }, { data: { n: 1 } }]))
    const message = await one()
    expect(message.event.data).toEqual({ n: 1 })
    expect(await letter()).toMatchObject({ kind: 'schema', reason: 'undecodable' })
    await pass(queue.acknowledge(message.receipt))
    await close()
  })
}

/** Where the transport keeps the order of a key. */
const order = (world: () => World) => {
  it.concurrent('hands over one message of an order key at a time, in the order they were sent', async () => {
    const { queue, close, pass } = await desk(world(), { order: 'key' })
    await pass(queue.send(['a1', 'a2', 'b1'].map((data) => ({ data, orderKey: data[0]! }))))
    const first = await pass(queue.receive(10))
    expect(first.map(({ event }) => event.data)).toEqual(['a1', 'b1'])
    await pass(queue.reject(first[0]!.receipt))
    await pass(queue.acknowledge(first[1]!.receipt))
    const [again] = await pass(queue.receive(10))
    expect(again).toMatchObject({ attempt: 2, event: { data: 'a1' } })
    await pass(queue.acknowledge(again!.receipt))
    expect((await pass(queue.receive(10))).map(({ event }) => event.data)).toEqual(['a2'])
    await close()
  })
}

const noOrder = (world: () => World) => {
  it('refuses to promise an order that the transport can not keep', async () => {
    await expect(desk(world(), { order: 'key' })).rejects.toMatchObject({ code: 'no_order' })
  })
}

describe('a client on memory', () => {
  promises(() => virtual('memory:'))
  order(() => virtual('memory:'))
})

describe('a client on sqlite', () => {
  const folder = mkdtempSync(join(tmpdir(), 'reprieve-client-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const world = () => virtual(`sqlite:${join(folder, `${randomUUID()}.db`)}`)
  promises(world)
  order(world)
})

describeWith('amqp', 'a client on rabbitmq', (url) => {
  afterAll(async () => {
    const connection = await connect(url)
    const channel = await connection.createChannel()
    for (let n = 1; n <= count; n++) {
      const name = `client-${run}-${n}`
      const queue = `${name}.${name}.topic`
      for (const each of [
        queue,
        `_${name}.deadletter`,
        `_${name}.deadletter.quarantine`,
        `dlq-${run}-${n - 1}`,
      ])
        await channel.deleteQueue(each)
      await channel.deleteExchange(`${queue}.dlx`)
    }
    await connection.close()
  })
  promises(() => real(url))
  noOrder(() => real(url))
})

describeWith('kafka', 'a client on kafka', (brokers) => {
  afterAll(async () => {
    const admin = new Admin({
      clientId: 'client-test',
      bootstrapBrokers: brokers.replace('kafka://', '').split(','),
    })
    const topics = (await admin.listTopics()).filter((name) => name.includes(run))
    if (topics.length > 0) await admin.deleteTopics({ topics })
    await admin.close()
  })
  promises(() => real(kafkaUrl(brokers)))
  noOrder(() => real(kafkaUrl(brokers)))
})

describe('the rules of a client', () => {
  it('are those of the book where its own options say nothing', async () => {
    const rules = readRules(
      `version: 1
naming: { deadLetter: '{queue}-dlq' }
services: { orders: { policy: none } }`,
      'test.yaml',
    )
    const { policy: _, ...world } = { ...virtual('memory:'), policy: undefined }
    const transport = (await openUrl(world.url, world.tools)).transport!
    await using queue = await client(transport, {
      topic: 'order.placed',
      service: 'orders',
      rules,
      ...world.tools,
    })
    await queue.send({ data: 1 })
    const [message] = await world.run(queue.receive())
    expect(await world.run(queue.reject(message!.receipt))).toMatchObject({
      is: 'dead',
      to: 'orders.order.placed-dlq',
      reason: 'attempts exhausted',
    })
  })
})
