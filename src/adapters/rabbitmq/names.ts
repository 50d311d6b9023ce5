import type { Address } from '../../contracts/transport.ts'
import { ReprieveError } from '../../core/error.ts'
import type { Millis } from '../../core/time.ts'

/** What AMQP can carry as the name of a queue or a routing key. */
export const MAX_NAME_BYTES = 255

export const queueOf = ({ service, topic }: Pick<Address, 'service' | 'topic'>): string => {
  const name = `${service}.${topic}`
  // the longest name made of it is that of its dead-letter exchange
  if (Buffer.byteLength(exchangeOfDead(name)) > MAX_NAME_BYTES) {
    throw badTopic(`the queue name '${name}' is longer than RabbitMQ allows`, 'use shorter names')
  }
  return name
}

export const exchangeOfDead = (queue: string): string => `${queue}.dlx`

/**
 * A subscription's topic as binding key. `a.b.*` is `a.b.*.#` in RabbitMQ's words: one word more or many, where
 * `a.b.#` would take `a.b` as well.
 */
export const bindingOf = (topic: string): string => {
  if (topic === '*') return '#'
  const words = topic.split('.')
  const pattern = words.at(-1) === '*'
  if (pattern) words.pop()
  const wild = words.find((word) => word === '*' || word === '#' || word.endsWith('*'))
  if (wild !== undefined) {
    throw badTopic(
      `RabbitMQ matches topics by whole words between dots, and '${topic}' has '${wild}' in it`,
      `subscribe to whole topics, or to a beginning that ends with a dot, such as 'orders.*'`,
    )
  }
  return pattern ? `${topic}.#` : topic
}

export const checkTopic = (topic: string): void => {
  if (topic === '' || Buffer.byteLength(topic) > MAX_NAME_BYTES) {
    throw badTopic(`the topic '${topic.slice(0, 40)}' can't be a routing key`, 'name it with 1 to 255 bytes')
  }
}

const badTopic = (message: string, fix: string): ReprieveError =>
  new ReprieveError('bad_usage', message, { fix })

/** Where waits come home: it knows the queue of each subscription by name. */
export const HOME = 'reprieve.home'
/** Where waits go whose queue is there no more. */
export const HOMELESS = 'reprieve.homeless'

const SECOND = 1000
const MINUTE = 60 * SECOND

/** The waits that the broker keeps, shared by all subscriptions of a vhost. More of them is more queues. */
export const TIERS: readonly Millis[] = [
  100,
  250,
  500,
  ...[1, 2, 5, 10, 20, 30].map((seconds) => seconds * SECOND),
  ...[1, 2, 5, 10, 15, 30, 60].map((minutes) => minutes * MINUTE),
]

export const LONGEST_WAIT = TIERS.at(-1)!

/** The smallest tier that is not too early. What must wait longer than the longest goes through it again. */
export const tierFor = (ms: Millis): Millis => TIERS.find((tier) => tier >= ms) ?? LONGEST_WAIT

const TIER = 'reprieve.later.'
export const tierName = (tier: Millis): string => TIER + tier
export const isTier = (queue: string): boolean => queue.startsWith(TIER)
