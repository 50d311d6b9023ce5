import type { Returning } from '../../contracts/transport.ts'
import type { AddressOfForeign } from './found.ts'
import type { Outgoing } from './outgoing.ts'

const OVERHEAD = 40

export const addressOf = ({ origin }: Returning): AddressOfForeign =>
  origin.address as unknown as AddressOfForeign

/** A foreign record on its way back. `partitions`: how many its topic has by now. */
export const returningRecord = (message: Returning, partitions: number): Outgoing => {
  const { topic, partition, key, headers } = addressOf(message)
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
