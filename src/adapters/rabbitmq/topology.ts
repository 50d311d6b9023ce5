import type { Clock } from '../../contracts/tools.ts'
import type { Destination, Subscription } from '../../contracts/transport.ts'
import { ReprieveError } from '../../core/error.ts'
import type { Millis } from '../../core/time.ts'
import { within } from '../../core/within.ts'
import {
  type Channel,
  type Connection,
  closeQuietly,
  isDown,
  type QueueOptions,
  replyCode,
  saidIn,
} from './client.ts'
import { bindingOf, exchangeOfDead, HOME, HOMELESS, queueOf, tierName } from './names.ts'
import { openWithin, PATIENCE } from './patience.ts'

/**
 * So high that the broker never buries before us: a delivery counts there with every restart of a consumer, and
 * from RabbitMQ 4.0 on the limit is 20 where none is given.
 */
export const DELIVERY_LIMIT = 1_000_000

const DURABLE = { durable: true }
const QUORUM = { 'x-queue-type': 'quorum' }
/** Dead-lettering by the broker itself loses nothing only with both of these, on a quorum queue. */
const SURELY = { 'x-dead-letter-strategy': 'at-least-once', 'x-overflow': 'reject-publish' }

const queueOptions = (args: QueueOptions['arguments']): QueueOptions => ({ durable: true, arguments: args })

export const declareExchange =
  (exchange: string) =>
  async (channel: Channel): Promise<void> => {
    await channel.assertExchange(exchange, 'topic', DURABLE)
  }

/**
 * exchange —topic→ queue  ·  home —its name→ queue  ·  <queue>.dlx —name→ each destination
 *
 * The queue comes before all others: a broker writes down that it has made one when it makes the next, or seconds later, and
 * if it is killed before that, the queue has no leader any more, for ever. Nothing is sent to it before its destinations are there.
 *
 * The queue's own dead-letter arguments are a net for what others reject there, and for what can't be read and is
 * too large to be published as a letter: all other burials of ours are publishes.
 */
export const declareSubscription =
  (to: Subscription, exchange: string, type: 'quorum' | 'classic') =>
  async (channel: Channel): Promise<void> => {
    const queue = queueOf(to)
    const binding = bindingOf(to.topic)
    const dead = exchangeOfDead(queue)
    await channel.assertExchange(exchange, 'topic', DURABLE)
    await channel.assertExchange(dead, 'direct', DURABLE)
    await channel.assertQueue(queue, subscriptionOptions(to, type))
    for (const destination of to.destinations) {
      await channel.assertQueue(destination.name, destinationOptions(destination))
      await channel.bindQueue(destination.name, dead, destination.name)
    }
    await declareHome(channel)
    await channel.bindQueue(queue, HOME, queue)
    await channel.bindQueue(queue, exchange, binding)
  }

export const subscriptionOptions = (to: Subscription, type: 'quorum' | 'classic'): QueueOptions => {
  const first = to.destinations[0]
  const dead = exchangeOfDead(queueOf(to))
  return queueOptions({
    'x-queue-type': type, // a virtual host may have another default
    ...(type === 'quorum' && { 'x-delivery-limit': DELIVERY_LIMIT }),
    ...(first && { 'x-dead-letter-exchange': dead, 'x-dead-letter-routing-key': first.name }),
    ...(first && type === 'quorum' && SURELY),
    // one consumer at a time, so that what arrives is taken in order however many workers there are
    ...(to.order === 'key' && { 'x-single-active-consumer': true }),
  })
}

export const destinationOptions = ({ expire }: Destination): QueueOptions =>
  queueOptions({
    ...QUORUM,
    'x-delivery-limit': DELIVERY_LIMIT, // there is nothing behind it: what the broker buried would be gone
    ...(expire !== undefined && { 'x-message-ttl': expire }),
  })

/** For whoever only collects: an existing queue will do as it is. */
export const declareDestination =
  (destination: Destination) =>
  async (channel: Channel, spare: () => Promise<Channel>): Promise<void> => {
    try {
      await channel.checkQueue(destination.name)
    } catch (error) {
      if (replyCode(error) !== 404 || isDown((error as Error).message)) throw error
      if (destination.foreign) throw missing(destination.name)
      const second = await spare()
      await second.assertQueue(destination.name, destinationOptions(destination))
    }
  }

const missing = (name: string): ReprieveError =>
  new ReprieveError(
    'unknown_destination',
    `there is no queue '${name}' on RabbitMQ, and it is not ours to make`,
    {
      fix: `start whoever declares it, or mend its name under foreign in the rule book`,
    },
  )

/**
 * tier —expired→ home —name of a queue→ that queue  ·  home —any other→ homeless
 *
 * The default exchange would know every queue by itself, but it has no second way: what finds no queue stays with the
 * tier, which has a few in its hands at a time, and then none of all subscriptions comes home any more.
 */
export const declareHome = async (channel: Channel): Promise<void> => {
  await channel.assertExchange(HOMELESS, 'fanout', DURABLE)
  await channel.assertQueue(HOMELESS, homelessOptions)
  await channel.bindQueue(HOMELESS, HOMELESS, '')
  await channel.assertExchange(HOME, 'direct', homeOptions)
}

export const homeOptions = { durable: true, arguments: { 'alternate-exchange': HOMELESS } }
export const homelessOptions = queueOptions({ ...QUORUM, 'x-delivery-limit': DELIVERY_LIMIT })

/**
 * A tier is a fanout exchange and a queue with one time to live for all. What expires there goes home under the
 * routing key it came with, which is the name of the consumer's queue.
 */
export const declareTier =
  (tier: Millis) =>
  async (channel: Channel): Promise<void> => {
    const name = tierName(tier)
    await declareHome(channel)
    await channel.assertExchange(name, 'fanout', DURABLE)
    await channel.assertQueue(name, tierOptions(tier))
    await channel.bindQueue(name, name, '')
  }

export const tierOptions = (tier: Millis): QueueOptions =>
  queueOptions({ ...QUORUM, ...SURELY, 'x-message-ttl': tier, 'x-dead-letter-exchange': HOME })

export type Declare = (channel: Channel, spare: () => Promise<Channel>) => Promise<void>

/** A refused declaration closes its channel, so each set of them is made on channels of its own. */
export const declareOn = async (
  connection: Connection,
  clock: Clock,
  place: string,
  declare: Declare,
): Promise<void> => {
  const channels: Channel[] = []
  let over = false
  const late = () => new Error(`no answer within ${PATIENCE} ms`)
  const spare = async (): Promise<Channel> => {
    const channel = await openWithin(clock, connection.createChannel(), late)
    channels.push(channel)
    if (!over) return channel
    void closeQuietly(channel)
    throw late()
  }
  const work = spare().then((channel) => declare(channel, spare))
  try {
    await within(clock, PATIENCE, work, late)
  } catch (error) {
    throw explain(error as Error, place)
  } finally {
    over = true
    for (const channel of channels) void closeQuietly(channel)
  }
}

const DIFFERS = /inequivalent arg '(.+?)' for (\w+) '(.+?)'/
/** Missing where names are long: the server cuts its text off after 255 bytes. */
const VALUES = /received (.+) but current is (.+)$/

const explain = (error: Error, place: string): Error => {
  if (error instanceof ReprieveError) return error
  const said = saidIn(error)
  const code = replyCode(error)
  if (code === 406 || code === 405) {
    const [, setting, kind, name] = DIFFERS.exec(said) ?? []
    const [, asked, has] = VALUES.exec(said) ?? []
    const values = has ? `: asked for ${asked}, it has ${has}` : ''
    const what = name ? `the ${kind} '${name}' exists with another ${setting}${values}` : said
    return new ReprieveError('topology_differs', `RabbitMQ at ${place}: ${what}`, {
      fix: `ask for what is there (in the rules or the URL), or empty and delete the ${kind ?? 'queue'} yourself and start again; nothing is ever deleted for you`,
      cause: error,
    })
  }
  return new ReprieveError('unavailable', `RabbitMQ at ${place} did not declare what is needed: ${said}`, {
    ...(code === 403 && { fix: 'give the user configure, write and read permission on the names above' }),
    cause: error,
  })
}

/** How many messages are ready in the queue. */
export const waitingIn = async (
  queue: string,
  connection: Connection,
  clock: Clock,
  place: string,
): Promise<number> => {
  let waiting = 0
  await declareOn(connection, clock, place, async (channel) => {
    waiting = (await channel.checkQueue(queue)).messageCount
  })
  return waiting
}
