import { classIn, type Found, livesOf } from '../../core/found.ts'
import type { Json } from '../../core/json.ts'
import type { Origin } from '../../core/origin.ts'
import { keyOf, type RawRecord, readFields } from './batches.ts'
import { DUE, TRAIL } from './headers.ts'
import type { Place } from './incoming.ts'

type Headers = ReadonlyMap<string, Buffer>

/** What a framework that moves failed records itself says of one. */
type Told = Pick<Found, 'name' | 'message' | 'stack' | 'attempts' | 'at' | 'topic' | 'consumerGroup'> & {
  readonly partition?: number | undefined
  readonly offset?: number | undefined
}

/** Where a foreign record is produced again, with the key and headers that it had. */
export interface AddressOfForeign {
  readonly topic: string
  /** Where it was, if that is told: whoever wrote it may deal out keys in another way than we do. */
  readonly partition?: number
  readonly key?: string
  /** Name and value; a value that is not there is null. */
  readonly headers: readonly (readonly [string, string | null])[]
}

/** Everything that headers tell of a record in a topic of dead letters that we did not write. */
export const readFound = (record: RawRecord, place: Place, offset: number, timestamp: number): Found => {
  const headers = new Map<string, Buffer>()
  readFields(record, (bytes, nameAt, nameLength, valueAt, valueLength) => {
    const name = bytes.toString('utf8', nameAt, nameAt + nameLength)
    headers.set(name, bytes.subarray(valueAt, valueAt + Math.max(0, valueLength)))
  })
  const told = springKafka(headers) ?? connect(headers)
  const claims = headers.has('ce_specversion') || /cloudevents/i.test(text(headers, 'content-type') ?? '')
  const from = told?.topic === undefined ? undefined : `kafka:${told.topic}/${told.partition}/${told.offset}`
  return {
    id: `kafka:${place.topic}/${place.partition}/${offset}`,
    ...(!claims && {
      // as it would be called if we had read it where it was first
      eventId: told?.partition !== undefined && told.offset !== undefined ? from : undefined,
      type: told?.topic,
    }),
    topic: told?.topic,
    consumerGroup: told?.consumerGroup,
    name: told?.name ?? classIn(told?.stack),
    message: told?.message,
    stack: told?.stack,
    attempts: told?.attempts,
    at: told?.at ?? timestamp,
    origin: told?.topic === undefined ? undefined : originOf(told.topic, told.partition, record),
    ...livesOf((name) => text(headers, name)),
  }
}

const originOf = (topic: string, partition: number | undefined, record: RawRecord): Origin => {
  const key = keyOf(record)
  const headers: [string, string | null][] = []
  readFields(record, (bytes, nameAt, nameLength, valueAt, valueLength) => {
    const name = bytes.toString('utf8', nameAt, nameAt + nameLength)
    if (MOVED.test(name) || name === TRAIL || name === DUE) return
    const value = valueLength < 0 ? null : bytes.toString('base64', valueAt, valueAt + valueLength)
    headers.push([name, value])
  })
  const address: AddressOfForeign = {
    topic,
    ...(key && { key: key.toString('base64') }),
    ...(partition !== undefined && { partition }),
    headers,
  }
  return { to: `the topic '${topic}'`, address: address as unknown as Json }
}

/** Written when it was moved: sent back with them it would look as if it had just failed. */
const MOVED =
  /^(?:kafka_(?:dlt-)?(?:original|exception)-|retry_topic-|__connect\.errors\.|x-replay|x-original-id$|x-idempotency-key$)/

/** DeadLetterPublishingRecoverer, and the topics of @RetryableTopic. */
const springKafka = (headers: Headers): Told | undefined => {
  const prefix = ['kafka_dlt-', 'kafka_'].find((each) => headers.has(`${each}original-topic`))
  if (prefix === undefined) return undefined
  const named = (name: string) => text(headers, prefix + name)
  return {
    topic: named('original-topic') || undefined,
    partition: binary(headers, `${prefix}original-partition`),
    offset: binary(headers, `${prefix}original-offset`),
    consumerGroup: named('original-consumer-group') ?? named('dlt-original-consumer-group'),
    // the outer one is always the container's own
    name: named('exception-cause-fqcn') ?? named('exception-fqcn'),
    message: named('exception-message'),
    stack: named('exception-stacktrace'),
    attempts: binary(headers, 'retry_topic-attempts') ?? binary(headers, 'kafka_deliveryAttempt'),
  }
}

/** Sinks of Kafka Connect with a dead letter queue and its context headers. */
const connect = (headers: Headers): Told | undefined => {
  const named = (name: string) => text(headers, `__connect.errors.${name}`)
  const topic = named('topic')
  if (!topic) return undefined
  const whole = (name: string) => {
    const value = Number(named(name) || Number.NaN)
    return Number.isSafeInteger(value) && value >= 0 ? value : undefined
  }
  const connector = named('connector.name')
  return {
    topic,
    partition: whole('partition'),
    offset: whole('offset'),
    consumerGroup: connector === undefined ? undefined : `connect-${connector}`,
    name: named('exception.class.name'),
    message: named('exception.message'),
    stack: named('exception.stacktrace'),
  }
}

const text = (headers: Headers, name: string): string | undefined => headers.get(name)?.toString('utf8')

/** As Java writes a byte, an int or a long. */
const binary = (headers: Headers, name: string): number | undefined => {
  const bytes = headers.get(name)
  if (bytes?.length === 8) {
    const value = Number(bytes.readBigInt64BE())
    return value >= 0 && Number.isSafeInteger(value) ? value : undefined
  }
  const value = bytes?.length === 4 ? bytes.readInt32BE() : bytes?.length === 1 ? bytes[0]! : -1
  return value >= 0 ? value : undefined
}
