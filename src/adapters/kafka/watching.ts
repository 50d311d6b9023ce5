import type { Millis } from '../../core/time.ts'
import { isOfTopic } from './errors.ts'
import { type Group, LOOK_AGAIN } from './group.ts'
import type { Topics } from './topics.ts'
import type { Wire } from './wire.ts'
import { within } from './within.ts'

const ANSWER: Millis = 15_000

/**
 * A topic that was given more partitions has nobody who reads the new ones until the group is dealt out anew: no
 * broker tells its members. So whoever dealt looks now and then at all that he dealt, whosever it is, and joins again:
 * where another member does, nothing is dealt out anew. What the group has to go on without is looked for by each.
 */
export const watching = async ({ admin, tools }: Wire, group: Group, topics: Topics): Promise<void> => {
  const { member } = group
  while (!member.left.aborted) {
    await tools.clock.sleep(LOOK_AGAIN, member.left)
    // should that fail, what was withheld still is
    if (group.lacking) await member.mend().catch(() => {})
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
      if (!member.left.aborted) member.trouble('looking for new partitions', error, LOOK_AGAIN)
      if (isOfTopic(error)) await member.mend().catch(() => {}) // as above
    }
  }
}
