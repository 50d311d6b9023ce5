import type { Producer } from './client.ts'
import { isOfTopic } from './errors.ts'
import { placeOf } from './offsets.ts'
import { asMessage, type Outgoing } from './outgoing.ts'
import type { Wire } from './wire.ts'

type Transaction = Awaited<ReturnType<Producer['beginTransaction']>>

/** A transaction, and the producer that it is of. */
export interface Open {
  readonly own: Producer
  readonly transaction: Transaction
}

/** Who leads what a transaction writes to, and since when; it changes with every change of that. */
export interface Led {
  readonly records: readonly Outgoing[]
  readonly by: string
}

/** The producer of transactions under one name; it has one at a time. */
export interface Transactor {
  readonly id: string
  begin(): Promise<Open>
  /**
   * Resolves when its marks are written, wherever it wrote. A broker tells the end of a transaction before that, and one that is
   * killed then never writes them: when it is back, it takes partitions that it does not know of yet for deleted ones. So
   * the next one is begun at once, which brokers refuse until the marks are there, and what is told is believed only
   * where nobody went away meanwhile. Else it is an error, and nobody knows. Of a commit that is so as well where it wrote to
   * a partition that had no leader meanwhile: brokers pass it over, and its records would hang there.
   */
  end(open: Open, how: 'commit' | 'abort', led: Led): Promise<void>
  /** The next one begins anew under the same name, which ends whatever this one has left open. */
  discard(old: Producer): void
  /** The same with whichever is in use. */
  renew(): void
  close(): Promise<void>
}

/** It says so of a partition; whoever waits for a leader may wait for long. */
export class Unled extends Error {}

/** What the client says when an operation of its own has failed and is tried again. */
export const TRIES_AGAIN = 'client:performWithRetry:retry'
/** A topic that is missing is not there after fifty questions either. */
const FEW = 2
/** Numbers of nobody: the broker deals out new ones, and fences whoever had the old. */
const NOBODY = { producerId: -1n, producerEpoch: -1 }

export const transactorOf = (wire: Wire): Transactor => {
  const id = `reprieve-${wire.tools.dice.uuid()}`
  let producer: Producer | undefined
  /** Begun already, to see that the last one has ended. */
  let next: Open | undefined

  const discard = (old: Producer | undefined) => {
    if (next?.own === old) next = undefined
    if (producer === old) producer = undefined
    old?.close().catch(() => {}) // its connections may be gone already
  }
  return {
    id,
    begin: async () => {
      const begun = next
      next = undefined
      if (begun) return begun
      producer ??= wire.transactor(id)
      const own = producer
      try {
        return { own, transaction: await own.beginTransaction(NOBODY as never) }
      } catch (error) {
        discard(own)
        throw error
      }
    },
    end: async ({ own, transaction }, how, { records, by }) => {
      let away = false
      const leaves = () => {
        away = true
      }
      const triesAgain = (operation: string) => {
        away ||= operation === 'endTransaction'
      }
      own.on('client:broker:disconnect', leaves)
      own.on(TRIES_AGAIN as never, triesAgain as never)
      try {
        await transaction[how]()
        const begun = await own.beginTransaction(NOBODY as never)
        await own.initIdempotentProducer(NOBODY as never)
        if (away) throw new Error(`the broker went away during the ${how} of a transaction`)
        if (how === 'commit' && by !== (await ledNow(own, records, true)).by)
          throw new Error('a partition had another leader, or none, during the commit of a transaction')
        if (own === producer) next = { own, transaction: begun }
      } finally {
        own.off('client:broker:disconnect', leaves)
        own.off(TRIES_AGAIN as never, triesAgain as never)
      }
    },
    discard,
    renew: () => discard(producer),
    close: async () => {
      await producer?.close()
    },
  }
}

/** `anew`: not as it was when last looked at. Rejects where one of the partitions has no leader. */
export const ledNow = async (own: Producer, records: readonly Outgoing[], anew: boolean): Promise<Led> => {
  const look = async ([topic, ofTopic]: [string, readonly Outgoing[]]) => {
    try {
      const { topics } = await own.metadata({ topics: [topic], forceUpdate: anew, retries: FEW })
      const { partitions = [], partitionsCount = 1 } = topics.get(topic) ?? {}
      return [...new Set(ofTopic.map(({ partition }) => partition! % partitionsCount))].map((partition) => {
        const { leader = -1, leaderEpoch } = partitions[partition] ?? {}
        if (leader < 0) throw new Unled(`no broker leads ${placeOf({ topic, partition })}`)
        return `${placeOf({ topic, partition })}:${leaderEpoch}`
      })
    } catch (error) {
      // nothing is left open where there is no topic, or where we may not write
      if (!isOfTopic(error)) throw error
      return [topic]
    }
  }
  const all = await Promise.all([...Map.groupBy(records, (each) => each.topic)].map(look))
  return { records, by: all.flat().join() }
}

/** As one that writes nothing: with its marks ends whatever was left open in the same partitions, in the same way. */
export const endEmpty = async (
  transactor: Transactor,
  open: Open,
  how: 'commit' | 'abort',
  records: readonly Outgoing[],
  groupId: string,
): Promise<void> => {
  const { own, transaction } = open
  const led = how === 'commit' ? await ledNow(own, records, true) : { records, by: '' }
  for (const [topic, ofTopic] of Map.groupBy(records, (each) => each.topic)) {
    try {
      const metadata = await own.metadata({ topics: [topic] })
      await transaction.addPartitions(metadata, ofTopic.map(asMessage) as never[])
    } catch (error) {
      if (!isOfTopic(error)) throw error // as above
    }
  }
  await transaction.addConsumer({ groupId } as never)
  await transactor.end(open, how, led)
}
