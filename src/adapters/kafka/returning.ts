import type { Returning } from '../../contracts/transport.ts'
import type { AddressOfForeign } from './found.ts'
import type { Outgoing } from './outgoing.ts'

const OVERHEAD = 40

/** Anybody may have written it: an office takes letters from files too, and those that its store had from another broker. */
export const addressOf = ({ origin: { address } }: Returning): AddressOfForeign | undefined => {
  if (typeof address !== 'object' || address === null || Array.isArray(address)) return undefined
  const { topic, partition, key, headers } = address as Readonly<Record<string, unknown>>
  const isPlace = partition === undefined || (Number.isInteger(partition) && (partition as number) >= 0)
  const isKey = key === undefined || typeof key === 'string'
  if (typeof topic !== 'string' || !isPlace || !isKey) return undefined
  return Array.isArray(headers) && headers.every(isHeader)
    ? (address as unknown as AddressOfForeign)
    : undefined
}

const isHeader = (pair: unknown): boolean =>
  Array.isArray(pair) && typeof pair[0] === 'string' && (pair[1] === null || typeof pair[1] === 'string')

/** A foreign record on its way back. `partitions`: how many its topic has by now. */
export const returningRecord = (
  message: Returning,
  { topic, partition, key, headers }: AddressOfForeign,
  partitions: number,
): Outgoing => {
  const { data } = message.event
  const pairs: (Buffer | undefined)[] = []
  let bytes = OVERHEAD
  const put = (name: string, value: Buffer | undefined) => {
    pairs.push(Buffer.from(name), value)
    bytes += name.length + (value?.length ?? 0) + 4
  }
  for (const [name, value] of headers) put(name, value === null ? undefined : Buffer.from(value, 'base64'))
  for (const [name, value] of Object.entries(message.headers)) put(name, Buffer.from(value))
  const value = data ? Buffer.from(data.buffer, data.byteOffset, data.byteLength) : undefined
  return {
    topic,
    key: key === undefined ? undefined : Buffer.from(key, 'base64'),
    value,
    headers: pairs,
    bytes: bytes + (value?.length ?? 0),
    partition: partition !== undefined && partition < partitions ? partition : undefined,
  }
}
