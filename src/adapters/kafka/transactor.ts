import type { Producer } from './client.ts'
import { isOfTopic } from './errors.ts'
import { asMessage, type Outgoing } from './outgoing.ts'
import type { Wire } from './wire.ts'

type Transaction = Awaited<ReturnType<Producer['beginTransaction']>>

/** A transaction, and the producer that it is of. */
export interface Open {
  readonly own: Producer
  readonly transaction: Transaction
}

/** The producer of transactions under one name; it has one at a time. */
export interface Transactor {
  readonly id: string
  begin(): Promise<Open>
  /** The next one begins anew under the same name, which ends whatever this one has left open. */
  discard(old: Producer): void
  /** The same with whichever is in use. */
  renew(): void
  close(): Promise<void>
}

/** What the client says when an operation of its own has failed and is tried again. */
export const TRIES_AGAIN = 'client:performWithRetry:retry'
/** Numbers of nobody: the broker deals out new ones, and fences whoever had the old. */
const NOBODY = { producerId: -1n, producerEpoch: -1 }

export const transactorOf = (wire: Wire): Transactor => {
  const id = `reprieve-${wire.tools.dice.uuid()}`
  let producer: Producer | undefined

  const discard = (old: Producer | undefined) => {
    if (producer === old) producer = undefined
    old?.close().catch(() => {}) // its connections may be gone already
  }
  return {
    id,
    begin: async () => {
      producer ??= wire.transactor(id)
      const own = producer
      try {
        return { own, transaction: await own.beginTransaction(NOBODY as never) }
      } catch (error) {
        discard(own)
        throw error
      }
    },
    discard,
    renew: () => discard(producer),
    close: async () => {
      await producer?.close()
    },
  }
}

/**
 * A broker that was killed and came back may call a transaction ended whose marks it never writes: partitions that it does
 * not know of yet it takes for deleted ones. So only what is told at once is believed; else it is an error.
 */
export const end = async ({ own, transaction }: Open, how: 'commit' | 'abort'): Promise<void> => {
  let again = false
  const notice = (operation: string) => {
    again ||= operation === 'endTransaction'
  }
  own.on(TRIES_AGAIN as never, notice as never)
  try {
    await transaction[how]()
  } finally {
    own.off(TRIES_AGAIN as never, notice as never)
  }
  if (again) throw new Error(`the broker went away during the ${how} of a transaction`)
}

/** As one that writes nothing: with its marks ends whatever was left open in the same partitions, in the same way. */
export const endEmpty = async (
  open: Open,
  how: 'commit' | 'abort',
  records: readonly Outgoing[],
  groupId: string,
): Promise<void> => {
  const { own, transaction } = open
  for (const [topic, ofTopic] of Map.groupBy(records, (each) => each.topic)) {
    try {
      const metadata = await own.metadata({ topics: [topic] })
      await transaction.addPartitions(metadata, ofTopic.map(asMessage) as never[])
    } catch (error) {
      // nothing is left open where there is no topic, or where we may not write
      if (!isOfTopic(error)) throw error
    }
  }
  await transaction.addConsumer({ groupId } as never)
  await end(open, how)
}
