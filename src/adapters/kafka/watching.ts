import type { Millis } from '../../core/time.ts'
import type { Group } from './group.ts'
import type { Topics } from './topics.ts'
import type { Wire } from './wire.ts'
import { within } from './within.ts'

const ROUND: Millis = 30_000
const ANSWER: Millis = 15_000

/**
 * A topic that was given more partitions has nobody who reads the new ones until the group is dealt out anew: no
 * broker tells its members. So each looks now and then, and the one that deals joins again.
 */
export const watching = async ({ admin, tools }: Wire, { member }: Group, topics: Topics): Promise<void> => {
  const known = new Map<string, number>()
  while (!member.left.aborted) {
    await tools.clock.sleep(ROUND, member.left)
    const ours = [...new Set([...member.tenures.values()].map(({ topic }) => topic))]
    if (ours.length === 0 || !member.handing) continue
    try {
      const look = () => admin.metadata({ topics: ours, forceUpdate: true })
      const found = await within(ANSWER, tools.clock, look)
      const changed = ours.filter((name) => {
        const count = found.topics.get(name)?.partitionsCount ?? 0
        const before = known.get(name) ?? topics.partitions(name)
        known.set(name, count)
        // fewer: it was deleted and made anew
        return count !== before
      })
      // joining looks at them anew, so that retry topics become as wide
      for (const name of changed) topics.forget(name)
      if (changed.length > 0) member.join()
    } catch (error) {
      if (!member.left.aborted) member.trouble('looking for new partitions', error, ROUND)
    }
  }
}
