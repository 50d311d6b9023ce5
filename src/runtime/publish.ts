import type { Tools } from '../contracts/tools.ts'
import type { Transport } from '../contracts/transport.ts'
import { ReprieveError } from '../core/error.ts'
import { checkEvent, type Event, encodeData } from '../core/event.ts'
import { iso } from '../core/time.ts'
import type { PublishOptions } from './handler.ts'

/** An event made of what a user hands us: id and time are ours unless given. */
export const makeEvent = (
  type: string,
  data: unknown,
  options: PublishOptions,
  { clock, dice }: Tools,
): Event => {
  if (typeof type !== 'string' || type === '' || type.includes('*')) {
    throw new ReprieveError('bad_event', `'${String(type)}' can't be the type of an event`, {
      fix: "name the event itself, like 'todo.task.created'; patterns are for handlers",
    })
  }
  const encoded = encodeData(data)
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
