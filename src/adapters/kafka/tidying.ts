import type { Millis } from '../../core/time.ts'
import { reasonOf } from './errors.ts'
import type { Group } from './group.ts'
import type { Tenure } from './holding.ts'
import type { Wire } from './wire.ts'
import { within } from './within.ts'

const ROUND: Millis = 30_000
const ANSWER: Millis = 15_000

/**
 * Cuts off what is finished from the retry topics, now and then. Only their own consumer group reads them, so
 * nobody misses it; and should the broker ever forget how far the group has come, little is there to run again. A topic
 * that was deleted and made anew is left alone until it is read as the new one: what was finished of the old one says
 * nothing of it, and would take away what nobody has seen.
 */
export const tidying = async ({ admin, tools }: Wire, { name, member }: Group): Promise<void> => {
  const { clock, journal } = tools
  const cut = new WeakMap<Tenure, number>()
  let told = false
  while (!member.left.aborted) {
    await clock.sleep(ROUND, member.left)
    const finished = [...member.tenures.values()].filter(
      (each) => each.parcels && each.committed > (cut.get(each) ?? 0),
    )
    if (finished.length === 0 || !member.handing) continue
    try {
      await within(ANSWER, clock, () => cutOff(finished))
      told = false
    } catch (error) {
      if (member.left.aborted) return
      // once, until it went well again: a right that is missing would be told of for ever
      if (!told) notice(error)
      told = true
    }
  }

  async function cutOff(finished: readonly Tenure[]) {
    const names = [...new Set(finished.map(({ topic }) => topic))]
    const { topics } = await admin.metadata({ topics: names, forceUpdate: true, retries: 0 })
    const read = finished
      .filter(
        ({ topic, topicId, over }) => !over && topicId !== undefined && topics.get(topic)?.id === topicId,
      )
      .map((tenure) => ({ tenure, committed: tenure.committed }))
    if (read.length === 0) return
    const asked = [...Map.groupBy(read, ({ tenure }) => tenure.topic)].map(([name, ofTopic]) => ({
      name,
      partitions: ofTopic.map(({ tenure, committed }) => ({
        partition: tenure.partition,
        offset: BigInt(committed),
      })),
    }))
    await admin.deleteRecords({ topics: asked })
    for (const { tenure, committed } of read) cut.set(tenure, committed)
  }

  function notice(error: unknown) {
    const text = `kafka: what ${name} has finished could not be cut off its retry topics, and is tried again: ${reasonOf(error)}`
    journal({ is: 'notice', at: clock.now(), text })
  }
}
