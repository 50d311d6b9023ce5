import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import type { Unpack } from './batches.ts'
import type { Client } from './client.ts'

const GZIP = 1
const ZSTD = 4
/** No honest batch grows to so much, and who would unpack it all dies of it: each time that he comes to it. */
const MOST = 256 * 1024 * 1024

/** What lz4 and snappy make of a batch is bounded by what they are. */
export const unpackBy =
  ({ compressionsAlgorithmsByBitmask }: Client, most = MOST): Unpack =>
  (packing, bytes) => {
    if (packing === GZIP) return upTo(most, gunzipSync, bytes)
    if (packing === ZSTD) return upTo(most, zstdDecompressSync, bytes)
    const algorithm = compressionsAlgorithmsByBitmask[packing]
    if (!algorithm) throw new Error(`the log holds records packed in a way unknown to us: ${packing}`)
    return algorithm.decompressSync(bytes)
  }

type Limited = (bytes: Buffer, options: { readonly maxOutputLength: number }) => Buffer

const upTo = (most: number, unpack: Limited, bytes: Buffer): Buffer => {
  try {
    return unpack(bytes, { maxOutputLength: most })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_BUFFER_TOO_LARGE') throw error
    throw new Error(`the log holds a batch of records that unpack to more than ${most} bytes`)
  }
}
