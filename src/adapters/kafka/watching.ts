import type { Millis } from '../../core/time.ts'
import type { Group } from './group.ts'
import type { Topics } from './topics.ts'
import type { Wire } from './wire.ts'
import { within } from './within.ts'

const ROUND: Millis = 30_000
const ANSWER: Millis = 15_000

/**
 * A topic that was given more partitions has nobody who reads the new ones until the group is dealt out anew: no
 * broker tells its members. So whoever dealt looks now and then at all that he dealt, whosever it is, and joins again:
 * where another member does, nothing is dealt out anew.
 */
export const watching = async ({ admin, tools }: Wire, { member }: Group, topics: Topics): Promise<void> => {
  while (!member.left.aborted) {
    await tools.clock.sleep(ROUND, member.left)
    const { dealt, handing } = member
    if (dealt.size === 0 || !handing) continue
    try {
      const look = () => admin.metadata({ topics: [...dealt.keys()], forceUpdate: true })
      const found = await within(ANSWER, tools.clock, look)
      if (member.dealt !== dealt) continue
      // fewer: it was deleted and made anew
      const changed = [...dealt.keys()].filter(
        (name) => found.topics.get(name)?.partitionsCount !== dealt.get(name),
      )
      // joining looks at them anew, so that retry topics become as wide
      for (const name of changed) topics.forget(name)
      if (changed.length > 0) member.join()
    } catch (error) {
      if (!member.left.aborted) member.trouble('looking for new partitions', error, ROUND)
    }
  }
}
