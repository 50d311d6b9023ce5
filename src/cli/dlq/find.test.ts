import { describe, expect, it } from 'vitest'
import type { KeptLetter } from '../../contracts/letters.ts'
import { isFingerprint, wholeIds } from './find.ts'

const id = (beginning: string) => `${beginning}-0000-4000-8000-000000000000`
const all = [
  ...Array.from({ length: 1200 }, (_, i) => id(i.toString(16).padStart(8, '0'))),
  id('aaaaaaaa'),
  `aaaaaaaa-1${id('aaaaaaaa').slice(10)}`,
]

const office = {
  list: async ({ beginning = '' }: { beginning?: string }, limit: number) =>
    all
      .filter((each) => each.startsWith(beginning))
      .slice(0, limit)
      .map((each) => ({ letter: { id: each } }) as KeptLetter),
}

describe('ids as they are typed', () => {
  it('eight characters are enough where only one letter has them', async () => {
    expect(await wholeIds(office, ['000004a0', id('00000001')])).toEqual([id('000004a0'), id('00000001')])
  })

  it('what fits nothing, or is too short to mean one, is left to the office', async () => {
    expect(await wholeIds(office, ['ffffffff', '0000'])).toEqual(['ffffffff', '0000'])
  })

  it('what fits several is refused, with those it fits', async () => {
    await expect(wholeIds(office, ['aaaaaaaa'])).rejects.toThrow(
      /2 dead letters .* begins with aaaaaaaa\n.*aaaaaaaa-1/,
    )
    expect(await wholeIds(office, ['aaaaaaaa-1'])).toEqual([all.at(-1)])
  })
})

describe('a fingerprint', () => {
  it.each(['f1-1e452df86a0d967e', 'f1-1e', 'f12-0'])('is %s, whole or in part', (typed) => {
    expect(isFingerprint(typed)).toBe(true)
  })

  it.each([id('f1234567'), 'f1234567-', 'f1234567', 'faaaaaaa'])('is not %s, an id of a letter', (typed) => {
    expect(isFingerprint(typed)).toBe(false)
  })
})
