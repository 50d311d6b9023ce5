import type { ClusterMetadata } from '@platformatic/kafka'
import { describe, expect, it } from 'vitest'
import { assign } from './assign.ts'

const deal = (members: Record<string, string[]>, partitions: Record<string, number>) => {
  const metadata = {
    topics: new Map(Object.entries(partitions).map(([name, partitionsCount]) => [name, { partitionsCount }])),
  } as unknown as ClusterMetadata
  const asked = new Map(
    Object.entries(members).map(([memberId, topics]) => [memberId, { memberId, topics, version: 1 }]),
  )
  const dealt = assign('a', asked, new Set(members.a), metadata)
  return Object.fromEntries(
    dealt.map(({ memberId, assignments }) => [
      memberId,
      [...assignments.values()].flatMap(({ topic, partitions: held }) =>
        held.map((each) => `${topic}/${each}`),
      ),
    ]),
  )
}

describe('dealing out partitions', () => {
  it('gives every partition to one member, evenly', () => {
    const dealt = deal({ a: ['x', 'y'], b: ['x', 'y'] }, { x: 3, y: 3 })
    expect(Object.values(dealt).flat().sort()).toEqual(['x/0', 'x/1', 'x/2', 'y/0', 'y/1', 'y/2'])
    expect(dealt.a!.length).toBe(3)
  })

  it('gives a topic only to those that asked for it, though the leader did not', () => {
    expect(deal({ a: ['x'], b: ['x', 'y'] }, { x: 1, y: 2 })).toEqual({ a: ['x/0'], b: ['y/0', 'y/1'] })
  })

  it('spreads many topics of one partition', () => {
    const dealt = deal({ a: ['t', 'u', 'v', 'w'], b: ['t', 'u', 'v', 'w'] }, { t: 1, u: 1, v: 1, w: 1 })
    expect(dealt.a!.length).toBe(2)
    expect(dealt.b!.length).toBe(2)
  })
})
