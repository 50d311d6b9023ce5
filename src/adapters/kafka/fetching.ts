import type { Instant, Millis } from '../../core/time.ts'
import type { Broker, ClusterMetadata } from './client.ts'
import { CODE, errorOf, isOfTopic } from './errors.ts'
import { type FetchAnswer, type Fetched, fetchOnce } from './fetch.ts'
import type { Tenure } from './holding.ts'
import type { Member } from './member.ts'
import { listOffsets, type Place, placeOf } from './offsets.ts'
import { isHungry } from './tenure.ts'
import { GLANCE } from './tiers.ts'
import type { Wire } from './wire.ts'
import { within } from './within.ts'

export interface Fetching {
  close(): Promise<void>
}

const PARTITION_BYTES = 1024 * 1024
const LONG_POLL: Millis = 500
const LOOK_AGAIN: Millis = 5_000
/** Where a partition has no leader. */
const LOOK_SOON: Millis = 1_000
const ANSWER: Millis = 15_000
/** The connection has limits of its own; a broker that was asked and never answers must not keep its partitions for ever. */
const FETCH: Millis = 45_000

/** A partition, and the id under which its topic is fetched. */
type Named = readonly [topicId: string, tenure: Tenure, leaderEpoch: number]

const leaderOf = ({ topics }: ClusterMetadata, { topic, partition }: Place): number =>
  topics.get(topic)?.partitions[partition]?.leader ?? -1

/** The one that leads it, under which id, and since when: a broker that no longer leads it refuses to answer in its name. */
const namedIn = ({ topics }: ClusterMetadata, tenure: Tenure): Named => {
  const { id, partitions } = topics.get(tenure.topic)!
  return [id, tenure, partitions[tenure.partition]!.leaderEpoch]
}

const isOfAnother = ({ topic, topicId }: Tenure, { topics }: ClusterMetadata): boolean => {
  const id = topics.get(topic)?.id
  return id !== undefined && topicId !== undefined && id !== topicId
}

/** Has records to be handed over now, so that it will want more soon. Held ones only wait. */
const isBusy = (tenure: Tenure, now: number) =>
  !isHungry(tenure) && [...tenure.shelves.values()].some((shelf) => shelf.ready(now) > 0)

/**
 * Fetches for one member, with one request at a time to each broker. The long poll never keeps a busy partition
 * waiting: where one has enough for now, the others are only glanced at, until it wants more.
 */
export const fetching = (wire: Wire, member: Member): Fetching => {
  const { client } = wire
  const { clock } = wire.tools
  const fetcher = wire.fetcher()
  const underway = new Set<number>()
  const glanced = new Map<number, number>()
  /** Those that had trouble, and until when they are left out. */
  const sick = new WeakMap<Tenure, { readonly times: number; readonly until: number }>()
  /** Those whose topic was made anew, while it is asked where that begins. */
  const renewing = new WeakSet<Tenure>()
  /** Those that got nothing, though they have some. */
  const passed = new WeakSet<Tenure>()
  const stop = new AbortController()
  let nodes = 0
  let failures = 0
  /** Since when no broker told who leads what. */
  let awaySince: Instant | undefined
  let unled = ''

  let known: { readonly at: number; readonly metadata: ClusterMetadata } | undefined

  const isFresh = (now: number) => known !== undefined && now - known.at <= LOOK_AGAIN

  /** Looked up now and then, and after every trouble: this is asked at every turn. */
  const leaders = async (tenures: readonly Tenure[], now: number): Promise<ClusterMetadata> => {
    if (isFresh(now) && tenures.every(({ topic }) => known!.metadata.topics.has(topic)))
      return known!.metadata
    const topics = new Set(tenures.map(({ topic }) => topic))
    const look = () => fetcher.metadata({ topics: [...topics] })
    known = { at: now, metadata: await within(ANSWER, clock, look) }
    return known.metadata
  }
  const forget = () => {
    known = undefined
    fetcher.clearMetadata()
  }

  const take = async (tenure: Tenure, { code, end, batches, aborted, unread }: Fetched) => {
    if (code === CODE.offsetOutOfRange) return readOn(tenure)
    if (code !== 0) throw errorOf(client, code)
    if (unread) throw unread
    tenure.end = end
    if (batches.length === 0 && tenure.position < end) passed.add(tenure)
    else passed.delete(tenure)
    tenure.accept(batches, aborted)
  }

  /** The log has no record at that offset. What was fetched before it was cut off can still be settled. */
  const readOn = async (tenure: Tenure) => {
    const { position } = tenure
    const place = placeOf(tenure)
    const begins = (await within(ANSWER, clock, () => listOffsets(wire, [tenure], 'earliest'))).get(place)
    const isCut = begins !== undefined && begins > position
    member.trouble(
      `records of ${place} from offset ${position} are gone`,
      new Error(
        isCut
          ? 'the log was cut off before they were read; reading on from the earliest that is left'
          : 'the log ends before them, as after an unclean election; reading from the earliest there is',
      ),
    )
    if (isCut) tenure.skipTo(begins)
    else await member.restart(tenure)
  }

  /** One that has trouble stops nobody else: it is left out for a while. */
  const accept = async ({ code, partitions }: FetchAnswer, asked: ReadonlyMap<string, Tenure>) => {
    if (code !== 0) throw errorOf(client, code)
    const failed: Tenure[] = []
    let first: unknown
    for (const each of partitions) {
      const tenure = asked.get(`${each.topicId}/${each.partition}`)
      if (!tenure || tenure.over) continue
      try {
        await take(tenure, each)
        sick.delete(tenure)
      } catch (error) {
        first ??= error
        failed.push(tenure)
      }
    }
    if (failed.length === 0 || stop.signal.aborted) return
    forget()
    const pauses = failed.map(putAside)
    member.trouble(`fetching ${failed.map(placeOf).join(', ')}`, first, Math.min(...pauses))
  }
  const isWell = (tenure: Tenure, now: number) =>
    !renewing.has(tenure) && (sick.get(tenure)?.until ?? 0) <= now
  const putAside = (tenure: Tenure): Millis => {
    const { times } = sick.get(tenure) ?? { times: 0 }
    const pause = Math.min(100 * 2 ** times, 2_000)
    sick.set(tenure, { times: times + 1, until: clock.now() + pause })
    return pause
  }

  const fetchFrom = async (node: number, broker: Broker, wanted: readonly Named[], wait: Millis) => {
    const asked = new Map(wanted.map(([id, tenure]) => [`${id}/${tenure.partition}`, tenure]))
    const topics = [...Map.groupBy(wanted, ([id]) => id)].map(([topicId, ofTopic]) => ({
      topicId,
      partitions: ofTopic.map(([, { partition, position }, currentLeaderEpoch]) => ({
        partition,
        fetchOffset: BigInt(position),
        currentLeaderEpoch,
        lastFetchedEpoch: -1,
        partitionMaxBytes: PARTITION_BYTES,
      })),
    }))
    wire.counts.fetches++
    try {
      const ask = () => fetchOnce({ client, fetcher }, broker, topics, wait)
      await accept(await within(FETCH, clock, ask), asked)
      failures = 0
      if (awaySince !== undefined) member.goesOn(awaySince)
      awaySince = undefined
    } catch (error) {
      if (stop.signal.aborted) return
      forget()
      const pause = Math.min(100 * 2 ** failures++, 2_000)
      member.trouble('fetching', error, pause)
      await clock.sleep(pause, stop.signal)
    } finally {
      underway.delete(node)
      member.bell.ring()
      member.hunger.ring()
    }
  }

  /** One look around: starts what can be started, and answers how long until the next look at the latest. */
  const lookAround = async (): Promise<Millis | undefined> => {
    const now = clock.now()
    // all are being asked; one that never answers may be no leader any more
    if (underway.size > 0 && underway.size === nodes && isFresh(now)) return LOOK_AGAIN
    const tenures = [...member.tenures.values()]
    if (member.phase !== 'here' || tenures.length === 0) return undefined
    let metadata = await leaders(tenures, now)
    const isStale = (each: Tenure) => isWell(each, now) && isOfAnother(each, metadata)
    if (tenures.some(isStale)) {
      // whoever has started it may know more by now
      forget()
      metadata = await leaders(tenures, now)
    }
    for (const each of tenures) {
      each.topicId ??= metadata.topics.get(each.topic)?.id
      if (isStale(each)) void renew(each)
    }
    const led = Map.groupBy(tenures, (each) => leaderOf(metadata, each))
    nodes = led.size
    let next = missLeaders(
      tenures.filter((each) => !metadata.brokers.has(leaderOf(metadata, each))),
      now,
    )
    for (const [node, ofNode] of led) {
      const broker = metadata.brokers.get(node)
      if (!broker || underway.has(node)) continue
      const hungry = ofNode.filter(isHungry)
      const wanted = inTurn(hungry.filter((each) => isWell(each, now)))
      // What is held up by a stuck record has no bell of its own.
      if (wanted.length < ofNode.length) next = Math.min(next ?? GLANCE, GLANCE)
      if (wanted.length === 0) continue
      const more = wanted.some(({ position, end }) => position < end)
      const glance = !more && ofNode.some((each) => isBusy(each, now))
      const rest = (glanced.get(node) ?? 0) + GLANCE - now
      if (glance && rest > 0) next = Math.min(next ?? rest, rest)
      else {
        if (glance) glanced.set(node, now)
        underway.add(node)
        const named = wanted.map((each) => namedIn(metadata, each))
        void fetchFrom(node, broker, named, glance ? 0 : LONG_POLL)
      }
    }
    return next
  }

  /** The first one that has records gets them however large they are, others only what fits: who got nothing is the next. */
  const inTurn = (tenures: readonly Tenure[]): readonly Tenure[] =>
    tenures.some((each) => passed.has(each))
      ? [...tenures.filter((each) => passed.has(each)), ...tenures.filter((each) => !passed.has(each))]
      : tenures

  /** Says once which partitions nobody leads, and looks again soon; the others go on meanwhile. */
  const missLeaders = (tenures: readonly Tenure[], now: number): Millis | undefined => {
    const names = tenures.map(placeOf).sort().join(', ')
    if (names !== unled && names !== '') {
      member.trouble('fetching', new Error(`no broker leads ${names}`), LOOK_SOON)
    }
    unled = names
    if (names === '') return undefined
    if (known && now - known.at >= LOOK_SOON) forget()
    return LOOK_SOON
  }

  /** What was read of a topic that was deleted and made anew says nothing of the new one. Nobody else waits for its leader. */
  const renew = async (tenure: Tenure): Promise<void> => {
    renewing.add(tenure)
    if (!sick.has(tenure)) {
      const text = `${tenure.topic} was deleted and made anew`
      member.trouble(text, new Error('reading from its earliest record'))
    }
    const failed = await member.restart(tenure).catch((error: Error) => error)
    renewing.delete(tenure)
    if (stop.signal.aborted) return
    // also where it was fenced: what follows of that is not known yet
    const pause = tenure.over ? 0 : putAside(tenure)
    if (failed) {
      forget()
      member.trouble(`reading ${placeOf(tenure)} anew`, failed, pause)
    }
    member.hunger.ring()
  }

  const run = async () => {
    while (!stop.signal.aborted) {
      let wait: Millis | undefined
      // a look takes a while: what is told meanwhile is looked at too
      const heard = member.hunger.rung
      try {
        wait = await lookAround()
      } catch (error) {
        if (stop.signal.aborted) return
        wait = Math.min(100 * 2 ** failures++, 2_000)
        forget()
        awaySince ??= clock.now()
        member.trouble('looking for the leaders of partitions', error, wait)
        await clock.sleep(wait, stop.signal)
        // should it fail, so does the next look
        if (isOfTopic(error)) await member.mend().catch(() => {})
        continue
      }
      if (!stop.signal.aborted) await member.hunger.wait(wait, undefined, heard)
    }
  }
  void run()

  return {
    close: async () => {
      stop.abort()
      member.hunger.ring()
      await fetcher.close().catch(() => {}) // it only read
    },
  }
}
