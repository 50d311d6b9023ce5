import type { ClusterMetadata } from '@platformatic/kafka'
import type { Millis } from '../../core/time.ts'
import type { Consumer, FetchAnswer } from './client.ts'
import { CODE, hasCode, responsesIn } from './errors.ts'
import type { Tenure } from './holding.ts'
import type { Member } from './member.ts'
import { MOST_SPAN } from './tenure.ts'
import type { Wire } from './wire.ts'

export interface Fetching {
  close(): Promise<void>
}

/** A partition is fetched while less than this waits. */
const ENOUGH_BYTES = 512 * 1024
const PARTITION_BYTES = 1024 * 1024
const ANSWER_BYTES = 8 * 1024 * 1024
const LONG_POLL: Millis = 500
const LOOK_AGAIN: Millis = 5_000
/** How long partitions with nothing new are left alone while another one has enough. */
const GLANCE: Millis = 100

const wants = (tenure: Tenure) => tenure.bytes < ENOUGH_BYTES && tenure.span < MOST_SPAN
/** Has records to be handed over now, so that it will want more soon. Held ones only wait. */
const isBusy = (tenure: Tenure, now: number) =>
  !wants(tenure) && [...tenure.shelves.values()].some((shelf) => shelf.ready(now) > 0)

/**
 * Fetches for one member, with one request at a time to each broker. The long poll never keeps a busy partition
 * waiting: where one has enough for now, the others are only glanced at, until it wants more.
 */
export const fetching = (wire: Wire, group: string, member: Member): Fetching => {
  const { clock } = wire.tools
  const fetcher: Consumer = wire.fetcher(group)
  const underway = new Set<number>()
  const glanced = new Map<number, number>()
  let closed = false
  let failures = 0

  let known: { readonly at: number; readonly metadata: ClusterMetadata } | undefined

  /** Looked up now and then, and after every trouble: this is asked at every turn. */
  const leaders = async (tenures: readonly Tenure[], now: number): Promise<ClusterMetadata> => {
    const stale = !known || now - known.at > LOOK_AGAIN
    if (!stale && tenures.every(({ topic }) => known!.metadata.topics.has(topic))) return known!.metadata
    const topics = new Set(tenures.map(({ topic }) => topic))
    for (const topic of [...fetcher.topics.keys()]) if (!topics.has(topic)) fetcher.topics.untrack(topic)
    for (const topic of topics) if (!fetcher.topics.has(topic)) fetcher.topics.track(topic)
    known = { at: now, metadata: await fetcher.metadata({ topics: [...topics] }) }
    return known.metadata
  }
  const forget = () => {
    known = undefined
    fetcher.clearMetadata()
  }

  const accept = async (answer: FetchAnswer, asked: ReadonlyMap<string, Tenure>) => {
    for (const { topicId, partitions } of answer.responses) {
      for (const partition of partitions) {
        const tenure = asked.get(`${topicId}/${partition.partitionIndex}`)
        if (!tenure || tenure.over) continue
        if (partition.errorCode === CODE.offsetOutOfRange) {
          member.trouble(
            `records of ${tenure.topic}/${tenure.partition} from offset ${tenure.position} are gone`,
            new Error('the log was cut off before they were read; reading on from the earliest that is left'),
          )
          await member.restart(tenure)
          continue
        }
        if (partition.errorCode !== 0) continue
        tenure.end = Number(
          partition.lastStableOffset >= 0n ? partition.lastStableOffset : partition.highWatermark,
        )
        if (!partition.records?.length) continue
        tenure.accept(partition.records, partition.abortedTransactions ?? [])
      }
    }
  }

  const fetchFrom = async (node: number, wanted: readonly (readonly [string, Tenure])[], wait: Millis) => {
    const asked = new Map(wanted.map(([id, tenure]) => [`${id}/${tenure.partition}`, tenure]))
    const topics = [...Map.groupBy(wanted, ([id]) => id)].map(([topicId, ofTopic]) => ({
      topicId,
      partitions: ofTopic.map(([, { partition, position }]) => ({
        partition,
        fetchOffset: BigInt(position),
        currentLeaderEpoch: -1,
        lastFetchedEpoch: -1,
        partitionMaxBytes: PARTITION_BYTES,
      })),
    }))
    wire.counts.fetches++
    try {
      const answer = await fetcher.fetch({
        node,
        topics,
        maxWaitTime: wait,
        minBytes: 1,
        maxBytes: ANSWER_BYTES,
      })
      await accept(answer, asked)
      failures = 0
    } catch (error) {
      if (closed) return
      // Some partitions may have answered well beside one that did not.
      for (const answer of responsesIn(error) as FetchAnswer[]) {
        if (answer.responses) await accept(answer, asked).catch(() => {})
      }
      if (hasCode(error, CODE.fetchSessionUnknown, CODE.fetchSessionEpoch)) return
      if (hasCode(error, CODE.offsetOutOfRange)) return
      forget()
      const pause = Math.min(100 * 2 ** failures++, 2_000)
      member.trouble('fetching', error, pause)
      await clock.sleep(pause)
    } finally {
      underway.delete(node)
      member.bell.ring()
    }
  }

  /** One look around: starts what can be started, and answers how long until the next look at the latest. */
  const lookAround = async (): Promise<Millis | undefined> => {
    const tenures = [...member.tenures.values()]
    if (member.phase !== 'here' || tenures.length === 0) return undefined
    const now = clock.now()
    const metadata = await leaders(tenures, now)
    const led = Map.groupBy(
      tenures,
      (each) => metadata.topics.get(each.topic)?.partitions[each.partition]?.leader,
    )
    let next: Millis | undefined
    for (const [node, ofNode] of led) {
      if (node === undefined || node < 0 || underway.has(node)) continue
      const wanted = ofNode.filter(wants)
      if (wanted.length === 0) continue
      const more = wanted.some(({ position, end }) => position < end)
      const glance = !more && ofNode.some((each) => isBusy(each, now))
      const rest = (glanced.get(node) ?? 0) + GLANCE - now
      if (glance && rest > 0) next = Math.min(next ?? rest, rest)
      else {
        if (glance) glanced.set(node, now)
        underway.add(node)
        const named = wanted.map((each) => [metadata.topics.get(each.topic)!.id, each] as const)
        void fetchFrom(node, named, glance ? 0 : LONG_POLL)
      }
    }
    return next
  }

  const run = async () => {
    while (!closed) {
      let wait: Millis | undefined
      try {
        wait = await lookAround()
      } catch (error) {
        if (closed) return
        wait = Math.min(100 * 2 ** failures++, 2_000)
        forget()
        member.trouble('looking for the leaders of partitions', error, wait)
        await clock.sleep(wait)
        continue
      }
      if (!closed) await member.bell.wait(wait)
    }
  }
  void run()

  return {
    close: async () => {
      closed = true
      member.bell.ring()
      await fetcher.close(true).catch(() => {})
    },
  }
}
