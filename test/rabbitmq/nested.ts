import { createRequire } from 'node:module'
import type { Channel } from 'amqplib'

const defs = createRequire(import.meta.url)('../../node_modules/amqplib/lib/defs.js') as {
  BasicPublish: number
}

/** What is used of the client's own channel. */
interface Inside {
  readonly ch: number
  sendImmediately(method: number, fields: object): void
  readonly connection: { readonly channels: readonly { readonly buffer: { write(bytes: Buffer): void } }[] }
}

const HEADER_FRAME = 2
const FRAME_END = 0xce
const BASIC = 60
const HEADERS_AND_MESSAGE_ID = 0x2080

/** To a queue, with no data and headers that are tables in tables: our client writes no such thing. */
export const sendNested = (channel: Channel, queue: string, messageId: string, levels: number): void => {
  const inside = channel as unknown as Inside
  const name = Buffer.from(messageId)
  const table = tables(levels)
  const payload = Buffer.concat([
    numbers([BASIC, 2], [0, 2], [0, 4], [0, 4], [HEADERS_AND_MESSAGE_ID, 2]),
    numbers([table.length, 4]),
    table,
    numbers([name.length, 1]),
    name,
  ])
  const around = numbers([HEADER_FRAME, 1], [inside.ch, 2], [payload.length, 4])
  const properties = Buffer.concat([around, payload, numbers([FRAME_END, 1])])
  const to = { ticket: 0, exchange: '', routingKey: queue, mandatory: false, immediate: false }
  inside.sendImmediately(defs.BasicPublish, to)
  inside.connection.channels[inside.ch]!.buffer.write(properties)
}

/** A name of no bytes, the type of a table, and its length. */
const AROUND = 6

const tables = (levels: number): Buffer =>
  Buffer.concat(
    Array.from({ length: levels }, (_, level) =>
      numbers([0, 1], ['F'.charCodeAt(0), 1], [(levels - level - 1) * AROUND, 4]),
    ),
  )

const numbers = (...all: readonly (readonly [value: number, bytes: number])[]): Buffer =>
  Buffer.concat(
    all.map(([value, bytes]) => {
      const written = Buffer.alloc(bytes)
      written.writeUIntBE(value, 0, bytes)
      return written
    }),
  )
