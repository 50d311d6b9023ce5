import type { Admin } from '@platformatic/kafka'
import { until } from '../until.ts'

export interface Made {
  readonly partitions?: number
  readonly settings?: Readonly<Record<string, string>>
}

/** Made by a plain client, and there for everybody: a broker answers before it has told itself. */
export const makeTopic = async (
  admin: Admin,
  name: string,
  { partitions = 1, settings = {} }: Made = {},
): Promise<void> => {
  const configs = Object.entries(settings).map(([key, value]) => ({ name: key, value }))
  await admin.createTopics({ topics: [name], partitions, replicas: 1, configs })
  await until(`the topic ${name}`, async () => {
    const { topics } = await admin.metadata({ topics: [name], forceUpdate: true }).catch(() => ({
      topics: new Map<string, { partitions: { leader: number }[] }>(),
    }))
    const found = topics.get(name)?.partitions ?? []
    return found.length === partitions && found.every(({ leader }) => leader >= 0)
  })
}
