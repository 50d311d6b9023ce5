import type { GroupPartitionsAssigner } from './client.ts'

/**
 * Deals out partitions in turn, each only to members that subscribed to its topic. The client's own assigner
 * knows the leader's topics alone and deals them to everyone, which loses topics while two versions of a
 * service run side by side.
 */
export const assign: GroupPartitionsAssigner = (_leader, members, _topics, metadata) => {
  const ids = [...members.keys()].sort()
  const dealt = ids.map((memberId) => ({
    memberId,
    assignments: new Map<string, { topic: string; partitions: number[] }>(),
    count: 0,
  }))
  for (const topic of [...metadata.topics.keys()].sort()) {
    const takers = dealt.filter(({ memberId }) => members.get(memberId)?.topics?.includes(topic))
    if (takers.length === 0) continue
    // Whoever has the fewest begins, so that many topics of one partition do not all go to the first.
    const first = takers.reduce((least, each) => (each.count < least.count ? each : least))
    const start = takers.indexOf(first)
    const count = metadata.topics.get(topic)?.partitionsCount ?? 0
    for (let partition = 0; partition < count; partition++) {
      const taker = takers[(start + partition) % takers.length]!
      const held = taker.assignments.get(topic)
      if (held) held.partitions.push(partition)
      else taker.assignments.set(topic, { topic, partitions: [partition] })
      taker.count++
    }
  }
  return dealt
}
