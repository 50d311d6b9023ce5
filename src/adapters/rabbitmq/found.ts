import { createHash } from 'node:crypto'
import { classIn, type Found, livesOf } from '../../core/found.ts'
import type { Json } from '../../core/json.ts'
import type { Origin } from '../../core/origin.ts'
import type { Instant } from '../../core/time.ts'
import { decodeTrail } from '../../core/trail.ts'
import type { Message, Properties } from './client.ts'
import { attemptsIn, type DeathLine, deathsIn, tellDeath } from './deaths.ts'
import { isBinary, isStructured, TRAIL, textOf } from './headers.ts'
import { isTier } from './names.ts'
import { addressOf } from './returning.ts'

type Headers = Readonly<Record<string, unknown>>

/** What a framework that moves failed messages itself says of one. */
type Told = Pick<Found, 'name' | 'reason' | 'message' | 'stack' | 'attempts' | 'at' | 'type' | 'eventId'> & {
  readonly queue?: string | undefined
  readonly exchange?: string | undefined
  readonly key?: string | undefined
}

/** Everything that headers tell of a message in a queue of dead letters that we did not write. */
export const readFound = (message: Message): Found => {
  const { properties, fields } = message
  const { headers = {} } = properties
  const deaths = deathsIn(headers)
  const first = firstOf(deaths, headers)
  const told = [homeless, springAmqp, massTransit, nServiceBus]
    .map((read) => read(headers))
    .find((each) => each)
  const queue = told?.queue ?? first?.queue
  const exchange = told?.exchange ?? first?.exchange
  const key = told?.key ?? first?.key
  const last = deaths[0]
  const claims = isBinary(headers) || isStructured(properties.contentType)
  const { id, alike } = identityOf(message, last)
  return {
    id,
    alike,
    ...(!claims && {
      eventId: properties.messageId || told?.eventId || id,
      type: told?.type ?? key ?? fields.routingKey,
    }),
    topic: queue,
    reason: told?.reason ?? last?.reason,
    name: told?.name,
    message: told?.message ?? (last && tellDeath(last)),
    stack: told?.stack,
    attempts: told?.attempts ?? (deaths.length > 0 ? attemptsIn(deaths) : undefined),
    firstAt: first?.at,
    at: told?.at ?? last?.at,
    origin: exchange === undefined || key === undefined ? undefined : originOf(exchange, key, properties),
    queue: queue === undefined ? undefined : originOf('', queue, properties),
    ...livesIn(headers),
  }
}

/** A message of ours that the broker moved still has its trail: the next life is one more than that. */
const livesIn = (headers: Headers): Pick<Found, 'earlier' | 'generation'> => {
  const { generation } = decodeTrail(textOf(headers[TRAIL]))
  return { ...livesOf((name) => text(headers, name)), ...(generation > 0 && { generation }) }
}

const firstOf = (deaths: readonly DeathLine[], headers: Headers): DeathLine | undefined => {
  const { 'x-first-death-queue': queue, 'x-first-death-reason': reason } = headers
  return deaths.find((each) => each.queue === queue && each.reason === reason) ?? deaths.at(-1)
}

const originOf = (exchange: string, key: string, properties: Properties): Origin => ({
  to: exchange === '' ? `the queue '${key}'` : `the exchange '${exchange}' with the key '${key}'`,
  address: addressOf(exchange, key, properties) as unknown as Json,
})

/**
 * The broker keeps no number of a message. Its own id, its content and its last death together are as near as one
 * can come; without an id of its own another may be just like it.
 */
const identityOf = ({ content, properties, fields }: Message, last: DeathLine | undefined) => {
  const { messageId, headers = {}, ...others } = properties
  const { 'x-delivery-count': _, 'x-acquired-count': __, ...stable } = headers as Record<string, unknown>
  const hash = createHash('sha256')
    .update(
      JSON.stringify([messageId ?? null, fields.exchange, fields.routingKey, last ?? null, others, stable]),
    )
    .update('\0')
    .update(content)
    .digest('hex')
  return { id: `rabbitmq:${hash.slice(0, 32)}`, alike: messageId ? undefined : true }
}

/** A wait of ours whose queue was gone when it came home. The tier would take it again whatever is there. */
const homeless = (headers: Headers): Told | undefined => {
  const [last] = deathsIn(headers)
  if (last?.reason !== 'expired' || !isTier(last.queue)) return undefined
  const { key: queue } = last
  const { spent } = decodeTrail(textOf(headers[TRAIL]))
  const message = `its queue '${queue}' was gone when its wait was over`
  return { reason: 'homeless', message, attempts: spent, queue, exchange: '', key: queue }
}

/** RepublishMessageRecoverer. */
const springAmqp = (headers: Headers): Told | undefined => {
  const stack = text(headers, 'x-exception-stacktrace')
  const message = text(headers, 'x-exception-message')
  if (stack === undefined && message === undefined) return undefined
  return {
    name: classIn(innermost(stack)),
    message,
    stack,
    exchange: text(headers, 'x-original-exchange'),
    key: text(headers, 'x-original-routingKey'),
  }
}

/** Spring wraps what a listener throws; the last cause says what it was. */
const innermost = (stack: string | undefined): string | undefined =>
  stack === undefined ? undefined : stack.slice(stack.lastIndexOf('Caused by: ')).replace(/^Caused by: /, '')

/** The `_error` queues. */
const massTransit = (headers: Headers): Told | undefined => {
  const name = text(headers, 'MT-Fault-ExceptionType')
  if (name === undefined) return undefined
  const retries = Number(text(headers, 'MT-Fault-RetryCount'))
  return {
    name,
    message: text(headers, 'MT-Fault-Message'),
    stack: text(headers, 'MT-Fault-StackTrace'),
    at: momentOf(text(headers, 'MT-Fault-Timestamp')),
    attempts: Number.isSafeInteger(retries) ? retries + 1 : undefined,
    queue: lastOf(text(headers, 'MT-Fault-InputAddress')),
  }
}

/** The `error` queue. */
const nServiceBus = (headers: Headers): Told | undefined => {
  const name = text(headers, 'NServiceBus.ExceptionInfo.ExceptionType')
  if (name === undefined) return undefined
  return {
    name,
    message: text(headers, 'NServiceBus.ExceptionInfo.Message'),
    stack: text(headers, 'NServiceBus.ExceptionInfo.StackTrace'),
    // 2026-01-31 10:00:00:123456 Z
    at: momentOf(
      text(headers, 'NServiceBus.TimeOfFailure')?.replace(
        /^(\S+) (\d\d:\d\d:\d\d):(\d{3})\d* Z$/,
        '$1T$2.$3Z',
      ),
    ),
    queue: lastOf(text(headers, 'NServiceBus.FailedQ')),
    type: text(headers, 'NServiceBus.EnclosedMessageTypes')?.split(/[,;]/)[0],
    eventId: text(headers, 'NServiceBus.MessageId'),
  }
}

/** `rabbitmq://host/vhost/queue?durable=true`, or the queue alone, or `queue@machine`. */
const lastOf = (address: string | undefined): string | undefined =>
  address
    ?.replace(/[?@].*$/s, '')
    .split('/')
    .at(-1) || undefined

const momentOf = (written: string | undefined): Instant | undefined => {
  const at = Date.parse(written ?? '')
  return Number.isNaN(at) ? undefined : at
}

const text = (headers: Headers, name: string): string | undefined => {
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined
  if (typeof value === 'string') return value
  if (typeof value === 'number') return String(value)
  return Buffer.isBuffer(value) ? value.toString('utf8') : undefined
}
