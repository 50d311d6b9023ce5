import { Cursor } from './cursor.ts'

/**
 * Records as they lie in the log. Reading them is ours: the client makes a dozen objects of every record, which
 * takes longer than everything else that happens to it here.
 */
export interface RawBatch {
  readonly first: number
  readonly last: number
  readonly timestamp: number
  readonly attributes: number
  readonly producerId: bigint
  readonly count: number
  /** Where its records begin, unpacked. */
  readonly bytes: Buffer
  readonly at: number
}

/** From the length of its key to its end. */
export interface RawRecord {
  readonly bytes: Buffer
  readonly at: number
  readonly end: number
}

export type Unpack = (packing: number, bytes: Buffer) => Buffer

/** For so many bytes, all partitions of an answer together. */
export interface Room {
  left: number
}

const BEFORE_LENGTH = 12
const PACKED = 0b111
/** The broker says when records came; what their writer said of it does not count. */
const APPENDED = 1 << 3
export const TRANSACTIONAL = 1 << 4
export const CONTROL = 1 << 5

/**
 * All that are whole: the broker cuts the last one off where it likes. Those before one that can't be read come without it;
 * it is the first of the next answer, and so is what follows when the room is full of what was packed.
 */
export const readBatches = (
  bytes: Buffer,
  unpack: Unpack,
  room: Room = { left: Number.POSITIVE_INFINITY },
): readonly RawBatch[] => {
  const batches: RawBatch[] = []
  for (let start = 0; room.left > 0 && start + BEFORE_LENGTH <= bytes.length; ) {
    const end = start + BEFORE_LENGTH + bytes.readInt32BE(start + 8)
    if (end > bytes.length) break
    try {
      const batch = readBatch(bytes, start, end, unpack)
      batches.push(batch)
      if (batch.bytes !== bytes) room.left -= batch.bytes.length
    } catch (error) {
      if (batches.length === 0) throw error
      break
    }
    start = end
  }
  return batches
}

const readBatch = (bytes: Buffer, start: number, end: number, unpack: Unpack): RawBatch => {
  const from = new Cursor(bytes, start)
  const first = Number(from.int64())
  from.at += 8 // length, leader epoch
  const version = from.int8()
  if (version !== 2) throw new Error(`the log holds records of the old format ${version}`)
  from.at += 4 // checksum
  const attributes = from.int16()
  const last = first + from.int32()
  const base = Number(from.int64())
  const newest = Number(from.int64())
  const timestamp = attributes & APPENDED ? newest : base
  const producerId = from.int64()
  from.at += 6 // producer epoch, first sequence
  const count = from.int32()
  const packing = attributes & PACKED
  const inside =
    packing === 0 ? { bytes, at: from.at } : { bytes: unpack(packing, bytes.subarray(from.at, end)), at: 0 }
  return { first, last, timestamp, attributes, producerId, count, ...inside }
}

/** Of a record whose writer gave it no time: no age is made of that. */
const NO_TIME = Number.POSITIVE_INFINITY

export const eachRecord = (
  { bytes, at, count, first, timestamp, attributes }: RawBatch,
  visit: (offset: number, timestamp: number, record: RawRecord) => void,
): void => {
  const from = new Cursor(bytes, at)
  const isAppended = (attributes & APPENDED) !== 0
  for (let n = 0; n < count; n++) {
    const length = from.signed()
    const end = from.at + length
    from.at++ // attributes, unused
    const age = from.signed()
    const offset = first + from.signed()
    const time = isAppended ? timestamp : timestamp + age
    visit(offset, time < 0 ? NO_TIME : time, { bytes, at: from.at, end })
    from.at = end
  }
}

/** Its own copy, so that waiting long it does not keep all the others in memory. */
export const alone = ({ bytes, at, end }: RawRecord): RawRecord => {
  const own = Buffer.allocUnsafe(end - at)
  bytes.copy(own, 0, at, end)
  return { bytes: own, at: 0, end: end - at }
}

export const keyOf = ({ bytes, at }: RawRecord): Buffer | null => field(new Cursor(bytes, at))

/** Where name and value of a header lie; a length of -1 is no value at all. */
export type VisitHeader = (
  bytes: Buffer,
  nameAt: number,
  nameLength: number,
  valueAt: number,
  valueLength: number,
) => void

/** Its value, a view on what was fetched, after a look at every header. */
export const readFields = ({ bytes, at }: RawRecord, visit: VisitHeader): Buffer | null => {
  const from = new Cursor(bytes, at)
  const keyLength = from.signed()
  if (keyLength > 0) from.at += keyLength
  const value = field(from)
  for (let left = from.signed(); left > 0; left--) {
    const nameLength = from.signed()
    const nameAt = from.at
    from.at += nameLength
    const valueLength = from.signed()
    const valueAt = from.at
    if (valueLength > 0) from.at += valueLength
    visit(bytes, nameAt, nameLength, valueAt, valueLength)
  }
  return value
}

const field = (from: Cursor): Buffer | null => {
  const length = from.signed()
  if (length < 0) return null
  from.at += length
  return from.bytes.subarray(from.at - length, from.at)
}
