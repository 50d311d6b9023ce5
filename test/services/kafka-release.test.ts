import { expect, it } from 'vitest'
import { kafka } from './kafka.ts'
import { releaseBy } from './kafka-release.ts'
import { describeWith } from './urls.ts'

const known = (maxVersion: number) => [
  { name: 'group.version', maxVersion: 1 },
  { name: 'metadata.version', maxVersion },
]

it.each([
  [7, '3.3'],
  [14, '3.6'],
  [19, '3.7'],
  [25, '4.0'],
  [30, '4.3'],
  [31, undefined],
  [6, undefined],
])('a broker that knows metadata.version %i is of release %s', (level, release) => {
  expect(releaseBy(known(level))).toBe(release)
})

it('of one that tells no such feature the release is not made up', () => {
  expect(releaseBy([])).toBeUndefined()
})

describeWith('kafka', 'a broker that a variable names', (url) => {
  it('tells its release', async () => {
    expect(await kafka.ping(url)).toMatch(/^\d+\.\d+$/)
  })
})
