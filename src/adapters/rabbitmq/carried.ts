import { ReprieveError } from '../../core/error.ts'
import { checkEvent, type Event } from '../../core/event.ts'
import { PREFIX } from './headers.ts'

/**
 * What travels in the headers of each copy. The client writes 64 KB of them, and a trail and the reason of what is broken
 * need room beside.
 */
const MOST_BYTES = 48 * 1024
/** A name that means something to us travels under a longer one, and AMQP has 255 bytes for it. */
const MOST_NAME_BYTES = 200
/** The length of a name, the type of a value, and its length. */
const AROUND = 6

/** Throws `bad_event` for what can't be carried, before anything is sent. */
export const checkCarried = (event: Event): void => {
  checkEvent(event)
  const name = longName(event.headers)
  if (name === undefined) return
  throw new ReprieveError(
    'bad_event',
    `event ${event.id}: the header name '${name.slice(0, 40)}…' is too long, RabbitMQ carries ${MOST_NAME_BYTES} bytes`,
  )
}

/** Why no copy could be made of what a stranger sent, be it for a retry. He may put more into headers than our client can. */
export const unfit = (event: Event): string | undefined => {
  const name = longName(event.headers) ?? longName(event.extensions)
  if (name !== undefined)
    return `a name in its headers, '${name.slice(0, 40)}…', is longer than the ${MOST_NAME_BYTES} bytes that can travel`
  if (charactersOf(event) < FEW) return undefined
  const bytes = bytesOf(event)
  if (bytes <= MOST_BYTES) return undefined
  return `its attributes and headers take ${bytes} bytes, and at most ${MOST_BYTES} can travel with a copy`
}

/** So few fit, however they are written: to measure each of nearly all messages would take longer than to read it. */
const FEW = 4000

const charactersOf = (event: Event): number => {
  const { headers, extensions } = event
  const { id, source, type, subject = '', time = '', dataschema = '', datacontenttype = '' } = event
  let characters = id.length + source.length + type.length + subject.length + time.length
  characters += dataschema.length + datacontenttype.length
  for (const name in headers) characters += AROUND + name.length + headers[name]!.length
  for (const name in extensions) characters += AROUND + name.length + String(extensions[name]).length
  return characters
}

const longName = (names: Readonly<Record<string, unknown>>): string | undefined => {
  for (const name in names) if (name.length > 60 && Buffer.byteLength(name) > MOST_NAME_BYTES) return name
  return undefined
}

const bytesOf = (event: Event): number => {
  const { headers, extensions, data: _, ...attributes } = event
  let bytes = 0
  for (const name in headers) bytes += AROUND + Buffer.byteLength(name) + Buffer.byteLength(headers[name]!)
  for (const more of [attributes, extensions] as Readonly<Record<string, unknown>>[]) {
    for (const name in more)
      bytes += AROUND + PREFIX.length + Buffer.byteLength(name) + Buffer.byteLength(String(more[name]))
  }
  return bytes
}
