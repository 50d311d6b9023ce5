/** Reads bytes as Kafka's protocol writes them, one after the other. A class: one is made for every record. */
export class Cursor {
  readonly bytes: Buffer
  at: number

  constructor(bytes: Buffer, at = 0) {
    this.bytes = bytes
    this.at = at
  }

  int8(): number {
    return this.bytes.readInt8(this.at++)
  }

  int16(): number {
    this.at += 2
    return this.bytes.readInt16BE(this.at - 2)
  }

  int32(): number {
    this.at += 4
    return this.bytes.readInt32BE(this.at - 4)
  }

  int64(): bigint {
    this.at += 8
    return this.bytes.readBigInt64BE(this.at - 8)
  }

  /** A length or a count. */
  unsigned(): number {
    let byte = this.byte()
    let value = byte & 0x7f
    for (let scale = 128; byte >= 0x80; scale *= 128) {
      byte = this.byte()
      value += (byte & 0x7f) * scale
    }
    return value
  }

  /** A number near zero, of either sign. Exact up to 2^52. */
  signed(): number {
    const value = this.unsigned()
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2
  }

  /** Fields added by later versions of the protocol, passed by. */
  skipTags(): void {
    for (let left = this.unsigned(); left > 0; left--) {
      this.unsigned()
      const length = this.unsigned()
      this.at += length
    }
  }

  private byte(): number {
    const byte = this.bytes[this.at++]
    if (byte === undefined) throw new RangeError('a record or an answer ends before it should')
    return byte
  }
}
