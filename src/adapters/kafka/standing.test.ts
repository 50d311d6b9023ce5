import { expect, it } from 'vitest'
import { placeOf } from './offsets.ts'
import { standing } from './standing.ts'

const at = (partition: number, offset: number, text = 'ours') => ({ topic: 't', partition, offset, text })
const found = (...them: ReturnType<typeof at>[]) =>
  new Map(them.map((each) => [placeOf(each), { offset: each.offset, text: each.text }]))
const wanted = [at(0, 5), at(1, 7)]

it.each([
  ['there', 'all are as we wrote them', [at(0, 5), at(1, 7)]],
  ['absent', 'nothing was ever committed', []],
  ['absent', 'one of them is behind ours: one mark would have ended them all', [at(0, 9), at(1, 6)]],
  ['absent', 'one of them is missing', [at(0, 5)]],
  ['unclear', 'others have gone on', [at(0, 5), at(1, 8)]],
  ['unclear', 'others have marked something else beside the same offset', [at(0, 5, 'theirs'), at(1, 7)]],
] as const)('the offsets of a transaction are %s where %s', (as, _, them) => {
  expect(standing(found(...them), wanted)).toBe(as)
})
