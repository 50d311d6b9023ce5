import type { Millis } from '../../core/time.ts'
import { reasonOf } from './errors.ts'
import type { Group } from './group.ts'
import { placeOf } from './offsets.ts'
import type { Wire } from './wire.ts'
import { within } from './within.ts'

const ROUND: Millis = 30_000
const ANSWER: Millis = 15_000

/**
 * Cuts off what is finished from the retry topics, now and then. Only their own consumer group reads them, so
 * nobody misses it; and should the broker ever forget how far the group has come, little is there to run again.
 */
export const tidying = async ({ admin, tools }: Wire, { name, member }: Group): Promise<void> => {
  const { clock, journal } = tools
  const cut = new Map<string, number>()
  let told = false
  while (!member.left.aborted) {
    await clock.sleep(ROUND, member.left)
    const finished = [...member.tenures.values()].filter(
      (each) => each.parcels && each.committed > (cut.get(placeOf(each)) ?? 0),
    )
    if (finished.length === 0 || !member.handing) continue
    const topics = [...Map.groupBy(finished, ({ topic }) => topic)].map(([topic, ofTopic]) => ({
      name: topic,
      partitions: ofTopic.map(({ partition, committed }) => ({ partition, offset: BigInt(committed) })),
    }))
    const reached = finished.map((each) => [placeOf(each), each.committed] as const)
    try {
      await within(ANSWER, clock, () => admin.deleteRecords({ topics }))
      for (const [place, committed] of reached) cut.set(place, committed)
      told = false
    } catch (error) {
      if (member.left.aborted) return
      // once, until it went well again: a right that is missing would be told of for ever
      if (!told) notice(error)
      told = true
    }
  }

  function notice(error: unknown) {
    const text = `kafka: what ${name} has finished could not be cut off its retry topics, and is tried again: ${reasonOf(error)}`
    journal({ is: 'notice', at: clock.now(), text })
  }
}
