import { gzipSync, zstdCompressSync } from 'node:zlib'
import * as client from '@platformatic/kafka'
import { describe, expect, it } from 'vitest'
import { unpackBy } from './unpack.ts'

describe('packed records', () => {
  const zeros = Buffer.alloc(100_000)

  it.each([
    { packing: 1, packed: gzipSync(zeros) },
    { packing: 4, packed: zstdCompressSync(zeros) },
  ])(
    'that would fill the memory are refused and told of, others unpacked: $packing',
    ({ packing, packed }) => {
      expect(unpackBy(client, 100_000)(packing, packed)).toEqual(zeros)
      expect(() => unpackBy(client, 99_999)(packing, packed)).toThrow('unpack to more than 99999 bytes')
      expect(() => unpackBy(client)(packing, packed.subarray(0, 20))).toThrow()
    },
  )

  it('of a kind that is not known are refused', () => {
    expect(() => unpackBy(client)(7, zeros)).toThrow('unknown to us: 7')
  })
})
