import { PREFIX, TRAIL } from '../../src/adapters/rabbitmq/headers.ts'
import type { Way } from '../faults/proxy.ts'

/** Moments in the talk with a broker, by the AMQP 0-9-1 method that is about to go through. */
export type Moment = 'publish' | 'confirm' | 'deliver' | 'ack' | 'bare ack'

/** One connection: of each frame, before it is let through, what moment it would be. */
export interface Line {
  hear(frame: Buffer, way: Way): Moment | undefined
}

const METHOD_FRAME = 1
const HEADER_FRAME = 2
/** Type, channel and size in front of the payload. */
export const FRAME_HEADER = 7
const BASIC = 60
const PUBLISH = 40
const DELIVER = 60
const ACK = 80

/**
 * Listens to all connections of all clients, for a copy is confirmed on one and its original acknowledged on another: `ack` is only
 * an acknowledgement with a confirmed copy behind it, every other is `bare`. What is published with a trail is a copy.
 */
export const openTalk = (): (() => Line) => {
  /** Events with a confirmed copy, whose original was not acknowledged since. */
  const safe = new Set<string>()

  return () => {
    /** What a frame of content that follows on the same channel belongs to. */
    const expecting = new Map<number, { readonly is: 'publish' | 'deliver'; readonly tag: number }>()
    const published = new Map<number, number>()
    const copies = new Map<string, string>()
    const delivered = new Map<string, string>()

    const upTo = (of: Map<string, string>, channel: number, payload: Buffer): readonly string[] => {
      const tag = Number(payload.readBigUInt64BE(4))
      const multiple = (payload[12]! & 1) === 1
      const keys = [...of.keys()].filter((key) => {
        const [its, n] = key.split(' ').map(Number)
        return its === channel && (multiple ? n! <= tag : n === tag)
      })
      const ids = keys.map((key) => of.get(key)!)
      for (const key of keys) of.delete(key)
      return ids
    }
    const content = (channel: number, payload: Buffer): void => {
      const owner = expecting.get(channel)
      const id = idIn(payload)
      expecting.delete(channel)
      if (!owner || id === undefined) return
      const key = `${channel} ${owner.tag}`
      if (owner.is === 'deliver') delivered.set(key, id)
      else if (payload.includes(TRAIL)) copies.set(key, id)
    }

    return {
      hear: (frame, way) => {
        const channel = frame.readUInt16BE(1)
        const payload = frame.subarray(FRAME_HEADER)
        if (frame[0] === HEADER_FRAME) content(channel, payload)
        if (frame[0] !== METHOD_FRAME || payload.readUInt16BE(0) !== BASIC) return undefined
        const method = payload.readUInt16BE(2)
        if (method === PUBLISH && way === 'asked') {
          const tag = (published.get(channel) ?? 0) + 1
          published.set(channel, tag)
          expecting.set(channel, { is: 'publish', tag })
          return 'publish'
        }
        if (method === DELIVER && way === 'answered') {
          const tag = Number(payload.readBigUInt64BE(5 + payload[4]!))
          expecting.set(channel, { is: 'deliver', tag })
          return 'deliver'
        }
        if (method !== ACK) return undefined
        if (way === 'answered') {
          for (const id of upTo(copies, channel, payload)) safe.add(id)
          return 'confirm'
        }
        const copied = upTo(delivered, channel, payload).filter((id) => safe.delete(id))
        return copied.length > 0 ? 'ack' : 'bare ack'
      },
    }
  }
}

const NAME = Buffer.from(`${PREFIX}id`)
const ID = Buffer.concat([Buffer.from([NAME.length]), NAME, Buffer.from('S')])

/** The event's own id: a copy has another message id. */
const idIn = (header: Buffer): string | undefined => {
  const at = header.indexOf(ID)
  if (at < 0) return undefined
  const from = at + ID.length + 4
  return header.toString('utf8', from, from + header.readUInt32BE(from - 4))
}
