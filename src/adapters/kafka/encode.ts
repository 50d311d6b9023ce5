import type { Outgoing } from './outgoing.ts'

/** By whom, and which number the first one has: what is sent twice under the same number is written once. */
export interface Numbered {
  readonly producerId: bigint
  readonly epoch: number
  readonly sequence: number
}

export type Checksum = (bytes: Buffer) => number

const VERSION = 2
const LENGTH_AT = 8
const CHECKSUM_AT = 17
const HEAD = 61
/** So many bytes are sooner copied one by one than by a call. */
const FEW = 24

/**
 * A record batch as it lies in the log, in one piece. Writing it is ours, as reading is: the client makes some thirty
 * objects of every record.
 */
export const writeBatch = (
  records: readonly Outgoing[],
  { producerId, epoch, sequence }: Numbered,
  now: number,
  checksum: Checksum,
): Buffer => {
  const lengths = records.map(lengthOf)
  const to = new Pen(
    Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + widthOf(length) + length, HEAD)),
  )
  const { bytes } = to
  bytes.writeBigInt64BE(0n, 0)
  bytes.writeInt32BE(bytes.length - LENGTH_AT - 4, LENGTH_AT)
  bytes.writeInt32BE(-1, 12) // the leader's epoch, which is not ours to tell
  bytes.writeInt8(VERSION, 16)
  bytes.writeInt16BE(0, 21)
  bytes.writeInt32BE(records.length - 1, 23)
  bytes.writeBigInt64BE(BigInt(now), 27)
  bytes.writeBigInt64BE(BigInt(now), 35)
  bytes.writeBigInt64BE(producerId, 43)
  bytes.writeInt16BE(epoch, 51)
  bytes.writeInt32BE(sequence, 53)
  bytes.writeInt32BE(records.length, 57)
  to.at = HEAD
  for (let n = 0; n < records.length; n++) {
    const { key, value, headers } = records[n]!
    to.number(lengths[n]!)
    bytes[to.at++] = 0 // attributes, unused
    bytes[to.at++] = 0 // as old as the first one
    to.number(n)
    to.field(key)
    to.field(value)
    to.number(headers.length / 2)
    for (const part of headers) to.field(part)
  }
  bytes.writeUInt32BE(checksum(bytes.subarray(CHECKSUM_AT + 4)), CHECKSUM_AT)
  return bytes
}

const lengthOf = ({ key, value, headers }: Outgoing, at: number): number => {
  let length = 2 + widthOf(at) + widthOf(headers.length / 2) + room(key) + room(value)
  for (const part of headers) length += room(part)
  return length
}

const room = (part: Buffer | undefined): number => (part ? widthOf(part.length) + part.length : 1)

/** Numbers near zero, of either sign, are written in few bytes: twice the number, seven bits in each. */
const widthOf = (value: number): number =>
  value < 0x40 ? 1 : value < 0x2000 ? 2 : value < 0x10_0000 ? 3 : value < 0x800_0000 ? 4 : 5

const NOTHING = 1 // -1 in that way of writing

/** A class: its calls are thousands for every batch. */
class Pen {
  readonly bytes: Buffer
  at = 0

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  number(value: number): void {
    let left = value * 2
    while (left >= 0x80) {
      this.bytes[this.at++] = (left & 0x7f) | 0x80
      left >>>= 7
    }
    this.bytes[this.at++] = left
  }

  field(part: Buffer | undefined): void {
    if (!part) {
      this.bytes[this.at++] = NOTHING
      return
    }
    this.number(part.length)
    if (part.length > FEW) this.bytes.set(part, this.at)
    else for (let n = 0; n < part.length; n++) this.bytes[this.at + n] = part[n]!
    this.at += part.length
  }
}
