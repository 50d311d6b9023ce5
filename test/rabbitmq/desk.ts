import { type Channel, type ChannelModel, connect } from 'amqplib'
import { afterAll, beforeAll } from 'vitest'
import { closeQuietly, loadClient } from '../../src/adapters/rabbitmq/client.ts'
import { openTransport } from '../../src/adapters/rabbitmq/index.ts'
import { readUrl } from '../../src/adapters/rabbitmq/settings.ts'
import { systemClock } from '../../src/adapters/system/clock.ts'
import { systemDice } from '../../src/adapters/system/dice.ts'
import type { Fact } from '../../src/contracts/journal.ts'
import type { Clock } from '../../src/contracts/tools.ts'
import type { Delivery, Destination, Inlet, Settlement, Subscription } from '../../src/contracts/transport.ts'
import type { Event } from '../../src/core/event.ts'
import { writeLetter } from '../../src/core/letter.ts'

type Opened = Awaited<ReturnType<typeof openTransport>>

const dice = systemDice()

/**
 * What the tests of the adapter share: transports, a client of their own beside them, and a broom. A broker that is
 * told by a function belongs to the test, which may kill it and needs no broom.
 */
export const deskAt = (at: string | (() => string)) => {
  const theirs = typeof at === 'string'
  const where = theirs ? () => at : at
  const facts: Fact[] = []
  const open: Opened[] = []
  const queues = new Set<string>()
  const exchanges = new Set<string>()
  let model: ChannelModel | undefined

  const client = async (): Promise<ChannelModel> => {
    if (model) return model
    const mine = await connect(where())
    mine.on('error', () => {})
    mine.on('close', () => {
      model = undefined
    })
    model = mine
    return mine
  }

  beforeAll(async () => {
    if (theirs) await client()
  })

  afterAll(async () => {
    for (const transport of open) await transport.close()
    // a broker of the test's own was killed just now, and the client may not have heard of it yet
    if (!theirs) return void (model && (await closeQuietly(model)))
    const channel = await (await client()).createChannel()
    for (const queue of queues) await channel.deleteQueue(queue)
    for (const exchange of exchanges) await channel.deleteExchange(exchange)
    if (model) await closeQuietly(model)
  })

  const remember = (queue: string): string => {
    queues.add(queue)
    return queue
  }

  return {
    facts,
    /** A transport, by another URL or another clock where a test needs one. */
    transport: async (url = where(), clock: Clock = systemClock): Promise<Opened> => {
      const tools = { clock, dice, journal: (fact: Fact) => facts.push(fact) }
      const transport = await openTransport(await loadClient(), readUrl(url), tools)
      open.push(transport)
      return transport
    },
    /** A subscription with names of its own; whatever it makes is deleted at the end. */
    subscription: (over: Partial<Subscription> = {}): Subscription => {
      const service = over.service ?? uniqueName('svc')
      const topic = over.topic ?? uniqueName('topic')
      const destinations: readonly Destination[] = over.destinations ?? [
        { name: `${service}.dlq` },
        { name: `${service}.dlq.quarantine` },
      ]
      const queue = remember(`${service}.${topic}`)
      exchanges.add(`${queue}.dlx`)
      for (const { name } of destinations) remember(name)
      return {
        service,
        topic,
        consumerGroup: service,
        types: ['*'],
        order: 'none',
        lease: 30_000,
        window: 100,
        ...over,
        destinations,
      }
    },
    /** The name of a queue that will be deleted at the end. */
    queue: (prefix: string): string => remember(uniqueName(prefix)),
    exchange: (prefix: string): string => {
      const name = uniqueName(prefix)
      exchanges.add(name)
      return name
    },
    /** A channel of a client that knows nothing of the adapter. A refusal there ends only itself. */
    channel: async (): Promise<Channel> => {
      const channel = await (await client()).createChannel()
      channel.on('error', () => {})
      return channel
    },
  }
}

export const uniqueName = (prefix: string): string => `${prefix}-${dice.uuid()}`

export const makeEvent = (over: Partial<Event> = {}): Event => ({
  id: dice.uuid(),
  source: '/rabbitmq/test',
  type: 'test.made',
  datacontenttype: 'application/json',
  extensions: {},
  headers: {},
  data: Buffer.from('{"made":true}'),
  ...over,
})

export const makeEvents = (count: number): readonly Event[] =>
  Array.from({ length: count }, () => makeEvent())

/** Exactly so many deliveries, or what came within the time. */
export const take = async (inlet: Inlet, count: number, within = 30_000): Promise<readonly Delivery[]> => {
  const got: Delivery[] = []
  const signal = AbortSignal.timeout(within)
  while (got.length < count && !signal.aborted) got.push(...(await inlet.receive(count - got.length, signal)))
  return got
}

export const takeOne = async (inlet: Inlet): Promise<Delivery> => {
  const [delivery] = await take(inlet, 1)
  if (!delivery) throw new Error('nothing came within 30 s')
  return delivery
}

export const idsOf = (deliveries: readonly Delivery[]): readonly string[] =>
  deliveries.map(({ parcel }) => parcel.event.id).sort()

/** A clock that runs faster than the world, for timeouts that nobody wants to sit through. */
export const hasty = (times: number): Clock => {
  const start = systemClock.now()
  return {
    now: () => start + (systemClock.now() - start) * times,
    sleep: (ms, signal) => systemClock.sleep(ms / times, signal),
  }
}

/** It dies, and goes to the first destination. */
export const burial = (delivery: Delivery, to: Subscription): Settlement => {
  const failure = { category: 'permanent', kind: 'business', name: 'E', message: 'no', because: '' } as const
  const death = { reason: 'permanent', failure, at: Date.now(), limit: 5, fingerprint: 'f' } as const
  const destination = to.destinations[0]!.name
  const letter = writeLetter(delivery.parcel, { ...to, transport: 'rabbitmq' }, destination, death)
  return { do: 'bury', delivery, to: destination, letter }
}
