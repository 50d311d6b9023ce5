import type { Tools } from '../contracts/tools.ts'
import type { Transport } from '../contracts/transport.ts'
import { ReprieveError } from '../core/error.ts'
import { checkEvent, type Event, encodeData } from '../core/event.ts'
import { ANYTHING, checkGiven, checkNames, object, text } from '../core/given.ts'
import { iso } from '../core/time.ts'
import type { PublishOptions } from './handler.ts'

const OPTIONS = {
  orderKey: text('customer-7'),
  correlationId: text('order-7'),
  id: text('todo-7-created'),
  source: text('todo-svc'),
  subject: text('todo-7'),
  datacontenttype: text('application/json'),
  dataschema: text('https://example.org/todo.json'),
  headers: object("{ tenant: 'north' }"),
  // what they may be is told with more words further on
  ...{ time: ANYTHING, expires: ANYTHING, priority: ANYTHING, tx: ANYTHING },
} satisfies Record<keyof PublishOptions, unknown>

export const checkPublishing = (type: string, options: unknown): void =>
  checkNames(`publish('${String(type)}', …)`, options, OPTIONS)

/** An event made of what a user hands us: id and time are ours unless given. */
export const makeEvent = (
  type: string,
  data: unknown,
  options: PublishOptions,
  { clock, dice }: Tools,
): Event => {
  if (typeof type !== 'string' || type === '' || NO_TYPE.test(type)) {
    throw new ReprieveError('bad_event', `${JSON.stringify(String(type))} can't be the type of an event`, {
      fix: "name the event itself, like 'todo.task.created'; patterns are for handlers",
    })
  }
  checkPublishing(type, options)
  for (const name of ['time', 'expires'] as const) checkTime(type, name, options[name])
  const encoded = encode(type, data)
  const { correlationId, orderKey, priority, expires } = options
  const datacontenttype = options.datacontenttype ?? encoded.datacontenttype
  const event: Event = {
    id: options.id ?? dice.uuid(),
    source: options.source ?? 'reprieve',
    type,
    ...(options.subject !== undefined && { subject: options.subject }),
    time: options.time ?? iso(clock.now()),
    ...(datacontenttype !== undefined && { datacontenttype }),
    ...(options.dataschema !== undefined && { dataschema: options.dataschema }),
    extensions: {
      ...(correlationId !== undefined && { correlationid: correlationId }),
      ...(orderKey !== undefined && { orderkey: orderKey }),
      ...(priority !== undefined && { priority }),
      ...(expires !== undefined && { expirytime: expires }),
    },
    headers: options.headers ?? {},
    data: encoded.data,
  }
  checkEvent(event)
  return event
}

/** A star is for patterns; controls are in no name, and a line end would make two lines of every message about it. */
const NO_TYPE = /[*\p{Cc}]/u
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i

/** A time that nobody can read would be passed over when it matters: an event meant to expire would live for ever. */
const checkTime = (type: string, name: 'time' | 'expires', text: string | undefined): void => {
  if (text === undefined || (RFC_3339.test(text) && !Number.isNaN(Date.parse(text)))) return
  throw new ReprieveError('bad_event', `event of type ${type}: its ${name} '${String(text)}' is no time`, {
    fix: "write it by RFC 3339, like '2026-01-31T10:00:00Z'",
  })
}

const encode = (type: string, data: unknown): ReturnType<typeof encodeData> => {
  try {
    return encodeData(data)
  } catch (cause) {
    throw new ReprieveError(
      'bad_event',
      `event of type ${type}: its data can't be written as JSON: ${cause instanceof RangeError ? 'it is nested too deeply' : (cause as Error).message}`,
      { fix: 'publish plain values, or bytes with their datacontenttype', cause },
    )
  }
}

/** Of events that somebody made himself: what is in them is looked at by the transport. */
export const checkEvents = (events: unknown): void => {
  checkGiven('publishEvents(…)', 'the events', events, {
    what: 'a list of CloudEvents',
    like: "[{ id, source, type, extensions: {}, headers: {}, data }], or use publish('todo.task.created', data)",
    fits: Array.isArray,
  })
  for (const [i, event] of (events as readonly unknown[]).entries())
    checkGiven('publishEvents(…)', `event ${i}`, event, AN_EVENT)
}

const AN_EVENT = {
  what: 'a CloudEvent with its type',
  like: "{ id: 'e-1', source: 'shop', type: 'todo.task.created', extensions: {}, headers: {}, data: null }",
  fits: (event: unknown) =>
    typeof event === 'object' && event !== null && 'type' in event && typeof event.type === 'string',
}

/** Publishes each event to its topic. Resolves when all are durable. */
export const publishAll = async (
  transport: Transport,
  topicOf: (type: string) => string,
  events: readonly Event[],
  { clock, journal }: Tools,
): Promise<void> => {
  const byTopic = Map.groupBy(events, ({ type }) => topicOf(type))
  await Promise.all(
    [...byTopic].map(async ([topic, batch]) => {
      await transport.publish(topic, batch)
      journal({ at: clock.now(), is: 'published', topic, count: batch.length })
    }),
  )
}
