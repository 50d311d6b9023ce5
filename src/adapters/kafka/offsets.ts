import type { Millis } from '../../core/time.ts'
import { CODE, hasCode, responsesIn } from './errors.ts'
import { shortMark } from './marks.ts'
import type { Wire } from './wire.ts'
import { within } from './within.ts'

export interface Place {
  readonly topic: string
  readonly partition: number
}

export interface Commit extends Place {
  readonly offset: number
  readonly text: string
}

/** Under which membership a commit is made: the broker refuses it when another one has followed. */
export interface Membership {
  readonly member: string
  readonly generation: number
}

/** A producer's open transaction. */
export interface Transacting {
  readonly id: string
  readonly producerId: bigint
  readonly producerEpoch: number
}

/** fenced: another membership has followed, nothing was written. */
export type Committed = 'done' | 'fenced' | Error

export interface Offsets {
  readonly group: string
  /** One request, sent as it is: the client's own commit would join again and write under the new membership. */
  commit(commits: readonly Commit[], as: Membership): Promise<readonly Committed[]>
  /** In a transaction: nothing of it holds until that is committed. Rejects where it could not be written. */
  commitWithin(within: Transacting, commits: readonly Commit[], as: Membership): Promise<'done' | 'fenced'>
  /** `stable`: not while a transaction that would change them is open. */
  committed(
    places: readonly Place[],
    stable?: boolean,
  ): Promise<ReadonlyMap<string, { offset: number; text: string }>>
  leave(member: string): Promise<void>
}

/** Within a rebalance there is no longer than a session for everything. */
const PATIENCE: Millis = 3_000
const ANSWER: Millis = 5_000
const FENCED = [CODE.illegalGeneration, CODE.unknownMember, CODE.fencedInstance, CODE.rebalancing]

export const placeOf = ({ topic, partition }: Place): string => `${topic}/${partition}`

/** The offsets of one consumer group. */
export const offsetsOf = ({ clerk, client, counts, tools }: Wire, group: string): Offsets => {
  let coordinator: { host: string; port: number } | undefined

  const connect = async () => {
    coordinator ??= (
      await clerk.findCoordinator({ keyType: client.FindCoordinatorKeyTypes.GROUP, keys: [group] })
    )[0]!
    return clerk.connections.get(coordinator)
  }
  const topicsOf = (commits: readonly Commit[]) =>
    [...Map.groupBy(commits, ({ topic }) => topic)].map(([name, ofTopic]) => ({
      name,
      partitions: ofTopic.map(({ partition, offset, text }) => ({
        partitionIndex: partition,
        committedOffset: BigInt(offset),
        committedLeaderEpoch: -1,
        committedMetadata: text,
      })),
    }))
  const send = async (commits: readonly Commit[], { member, generation }: Membership) => {
    const connection = await connect()
    counts.commits++
    await client.offsetCommitV8.api.async(connection, group, generation, member, null, topicsOf(commits))
  }

  return {
    group,
    commitWithin: async ({ id, producerId, producerEpoch }, commits, { member, generation }) => {
      const { async: write } = client.txnOffsetCommitV3.api
      for (let tries = 1; ; tries++) {
        try {
          const connection = await connect()
          counts.commits++
          const topics = topicsOf(commits)
          await write(connection, id, group, producerId, producerEpoch, generation, member, null, topics)
          return 'done'
        } catch (error) {
          if (hasCode(error, ...FENCED)) return 'fenced'
          coordinator = undefined
          if (tries >= 5) throw error
          await tools.clock.sleep(50 * tries)
        }
      }
    },
    commit: async (wanted, as) => {
      if (wanted.length === 0) return []
      let commits = wanted
      const giveUp = tools.clock.now() + PATIENCE
      for (let wait = 50; ; wait *= 2) {
        try {
          await within(ANSWER, tools.clock, () => send(commits, as))
          return commits.map(() => 'done')
        } catch (error) {
          const codes = commitCodes(error)
          if (hasCode(error, CODE.markTooLarge) && commits === wanted) {
            commits = wanted.map((each) => ({ ...each, text: shortMark(each.text) }))
            continue
          }
          if (codes) return commits.map((each) => judge(codes.get(placeOf(each)), error))
          if (hasCode(error, ...FENCED)) return commits.map(() => 'fenced')
          // The group may have another coordinator by now.
          coordinator = undefined
          if (tools.clock.now() + wait > giveUp) return commits.map(() => error as Error)
          await tools.clock.sleep(wait)
        }
      }
    },
    committed: async (places, stable = false) => {
      const topics = [...Map.groupBy(places, ({ topic }) => topic)].map(([name, ofTopic]) => ({
        name,
        partitionIndexes: ofTopic.map(({ partition }) => partition),
      }))
      const found = new Map<string, { offset: number; text: string }>()
      const [answer] = await clerk.listConsumerGroupOffsets({
        groups: [{ groupId: group, topics }],
        requireStable: stable,
      })
      for (const { name, partitions } of answer?.topics ?? []) {
        for (const { partitionIndex: partition, committedOffset, metadata } of partitions) {
          if (committedOffset < 0n) continue
          found.set(placeOf({ topic: name, partition }), {
            offset: Number(committedOffset),
            text: metadata ?? '',
          })
        }
      }
      return found
    },
    leave: (memberId) => clerk.removeMembersFromConsumerGroup({ groupId: group, members: [{ memberId }] }),
  }
}

interface CommitAnswer {
  readonly topics?: readonly {
    readonly name: string
    readonly partitions: readonly { readonly partitionIndex: number; readonly errorCode: number }[]
  }[]
}

/** What the broker said of each partition; undefined where it only said that someone else must be asked. */
const commitCodes = (error: unknown): ReadonlyMap<string, number> | undefined => {
  const codes = new Map<string, number>()
  for (const { topics } of responsesIn(error) as CommitAnswer[]) {
    for (const { name, partitions } of topics ?? []) {
      for (const { partitionIndex: partition, errorCode } of partitions) {
        codes.set(placeOf({ topic: name, partition }), errorCode)
      }
    }
  }
  const moved = [...codes.values()].every((code) => COORDINATOR.includes(code))
  return moved ? undefined : codes
}

/** Loading, not available, not the coordinator: ask again, maybe elsewhere. */
const COORDINATOR: readonly number[] = [14, 15, 16]

const judge = (code: number | undefined, error: unknown): Committed => {
  if (code === 0) return 'done'
  return code !== undefined && (FENCED as readonly number[]).includes(code) ? 'fenced' : (error as Error)
}

/** Where logs begin (`earliest`) or end. Of partitions that nobody leads, or whose leader does not answer, nothing is told. */
export const listOffsets = async (
  { clerk, tools }: Wire,
  places: readonly Place[],
  which: 'earliest' | 'latest',
): Promise<ReadonlyMap<string, number>> => {
  const found = new Map<string, number>()
  if (places.length === 0) return found
  const timestamp = which === 'earliest' ? -2n : -1n
  const ask = async (some: readonly Place[]) => {
    const topics = [...Map.groupBy(some, ({ topic }) => topic)].map(([name, ofTopic]) => ({
      name,
      partitions: ofTopic.map(({ partition }) => ({ partitionIndex: partition, timestamp })),
    }))
    for (const { name, partitions } of await clerk.listOffsets({ topics })) {
      for (const { partitionIndex, offset } of partitions) {
        found.set(placeOf({ topic: name, partition: partitionIndex }), Number(offset))
      }
    }
  }
  const names = [...new Set(places.map(({ topic }) => topic))]
  const { topics } = await clerk.metadata({ topics: names, forceUpdate: true })
  const led = Map.groupBy(
    places,
    ({ topic, partition }) => topics.get(topic)?.partitions[partition]?.leader ?? -1,
  )
  led.delete(-1)
  // one that does not answer says nothing of the others
  await Promise.allSettled([...led.values()].map((some) => within(ANSWER, tools.clock, () => ask(some))))
  return found
}
