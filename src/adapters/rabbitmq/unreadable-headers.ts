import type { Connection } from './client.ts'
import { BROKEN } from './headers.ts'

/** What the client's own connection reads with. */
interface Reading {
  rest: Buffer
  recvFrame(): { fields?: object } | false
}

const HEADER_FRAME = 2
/** Type, channel and size. */
const BEFORE_PAYLOAD = 7
/** Class, weight and size of the body. */
const BEFORE_FLAGS = 12
const HEADERS = 0x2000
/** Texts that stand before the headers: the content's type and encoding. */
const BEFORE_HEADERS = [0x8000, 0x4000]

/**
 * The client reads tables in tables by recursion. Some thousand of them end its stack, and with that the connection of all
 * consumers: again and again, for the message comes again each time. Without its headers, and as broken, it stands in nobody's way.
 */
export const passUnreadableHeaders = ({ connection }: Connection): void => {
  const reading = connection as unknown as Reading | undefined
  if (!reading?.recvFrame) return // another client's
  const read = reading.recvFrame.bind(reading)
  reading.recvFrame = () => {
    const before = reading.rest
    try {
      return read()
    } catch (error) {
      const bare = reading.rest === before ? undefined : withoutHeaders(before)
      if (!bare) throw error
      reading.rest = Buffer.concat([bare, reading.rest])
      const frame = read()
      const why = `its headers can't be read: ${(error as Error).message}`
      if (frame) frame.fields = { ...frame.fields, headers: { [BROKEN]: why } }
      return frame
    }
  }
}

/** The frame at the beginning of these bytes, where it tells the properties of a message. */
const withoutHeaders = (bytes: Buffer): Buffer | undefined => {
  if (bytes[0] !== HEADER_FRAME || bytes.length < BEFORE_PAYLOAD) return undefined
  const end = BEFORE_PAYLOAD + bytes.readUInt32BE(3)
  if (bytes.length <= end) return undefined
  const at = BEFORE_PAYLOAD + BEFORE_FLAGS
  const flags = bytes.readUInt16BE(at)
  if (!(flags & HEADERS)) return undefined
  let from = at + 2
  for (const flag of BEFORE_HEADERS) if (flags & flag) from += 1 + bytes[from]!
  const to = from + 4 + bytes.readUInt32BE(from)
  const bare = Buffer.concat([bytes.subarray(0, from), bytes.subarray(to, end + 1)])
  bare.writeUInt32BE(bare.length - BEFORE_PAYLOAD - 1, 3)
  bare.writeUInt16BE(flags & ~HEADERS, at)
  return bare
}
