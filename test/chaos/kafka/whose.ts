import { Admin } from '@platformatic/kafka'

/** Whose the partitions of a consumer group are, and how far it is with each: for whoever looks why it stands still. */
export const whoseAre = async (brokers: readonly string[], group: string, topic: string): Promise<string> => {
  const admin = new Admin({ clientId: 'census', bootstrapBrokers: [...brokers], retries: 5 })
  try {
    const { state, members } = (await admin.describeGroups({ groups: [group] })).get(group)!
    const held = [...members.values()].map(({ id, assignments }) => {
      const ours = assignments?.get(topic)?.partitions ?? []
      return `${id} has ${ours.join(' ') || 'none'}`
    })
    const { partitions } = (await admin.metadata({ topics: [topic] })).topics.get(topic)!
    const asked = partitions.map((_, partitionIndex) => ({ partitionIndex, timestamp: -1n }))
    const [ends] = await admin.listOffsets({ topics: [{ name: topic, partitions: asked }] })
    const partitionIndexes = partitions.map((_, partition) => partition)
    const [told] = await admin.listConsumerGroupOffsets({
      groups: [{ groupId: group, topics: [{ name: topic, partitionIndexes }] }],
    })
    const lines = partitions.map(({ leader, isr }, partition) => {
      const end = ends!.partitions.find(({ partitionIndex }) => partitionIndex === partition)!.offset
      const mark = told!.topics[0]!.partitions.find(({ partitionIndex }) => partitionIndex === partition)!
      return `partition ${partition}: led by ${leader} of ${isr.join(' ')}, committed ${mark.committedOffset} of ${end}`
    })
    return [`group ${group} is ${state}`, ...held, ...lines].join('\n')
  } finally {
    await admin.close()
  }
}
