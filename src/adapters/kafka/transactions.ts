import type { Producer } from './client.ts'
import { type Commit, type Committed, type Membership, type Offsets, placeOf } from './offsets.ts'
import { loadsOf, type Outgoing } from './outgoing.ts'
import type { Wire } from './wire.ts'
import { within } from './within.ts'

/** Records and offsets that are written together, or not at all. */
export interface Transactions {
  /** Error: nothing was written. The records have their partitions. */
  run(
    records: readonly Outgoing[],
    offsets: Offsets,
    commits: readonly Commit[],
    as: Membership,
  ): Promise<Committed>
  close(): Promise<void>
}

type Transaction = Awaited<ReturnType<Producer['beginTransaction']>>

const PATIENCE = 25_000
const ABORTING = 5_000
/** Numbers of nobody: the broker deals out new ones, and fences whoever had the old. */
const NOBODY = { producerId: -1n, producerEpoch: -1 }

/** One after the other: a producer has one transaction at a time. */
export const transactionsOf = (wire: Wire): Transactions => {
  const { clock, dice } = wire.tools
  const id = `reprieve-${dice.uuid()}`
  let producer: Producer | undefined
  let last: Promise<unknown> = Promise.resolve()

  const begin = async (): Promise<Transaction> => {
    producer ??= wire.transactor(id)
    return producer.beginTransaction(NOBODY as never)
  }
  /** The next one begins anew under the same name, which ends whatever this one has left open. */
  const discard = () => {
    const old = producer
    producer = undefined
    old?.close().catch(() => {}) // its connections may be gone already
  }
  const abort = async (transaction: Transaction) => {
    try {
      await within(ABORTING, clock, () => transaction.abort())
    } catch {
      discard()
    }
  }

  /** Whether a commit arrived whose answer did not: under the same name nothing is open any more. */
  const arrived = async (offsets: Offsets, commits: readonly Commit[]): Promise<boolean> => {
    discard()
    const transaction = await begin()
    await transaction.cancel()
    const found = await offsets.committed(commits, true)
    return commits.every((each) => {
      const { offset, text } = found.get(placeOf(each)) ?? {}
      return offset === each.offset && text === each.text
    })
  }

  const once: Transactions['run'] = async (records, offsets, commits, as) => {
    let transaction: Transaction
    try {
      transaction = await begin()
    } catch (error) {
      discard()
      throw error
    }
    try {
      for (const messages of loadsOf(records)) {
        wire.counts.produces++
        await transaction.send({ messages: messages as never[] })
      }
      await transaction.addConsumer({ groupId: offsets.group } as never)
      const { producerId, producerEpoch } = producer!
      const within = { id, producerId: producerId!, producerEpoch: producerEpoch! }
      if ((await offsets.commitWithin(within, commits, as)) === 'fenced') {
        await abort(transaction)
        return 'fenced'
      }
    } catch (error) {
      await abort(transaction)
      throw error
    }
    try {
      await transaction.commit()
    } catch (error) {
      if (!(await arrived(offsets, commits))) throw error
    }
    return 'done'
  }

  return {
    run: (...of) => {
      const work = last.then(async (): Promise<Committed> => {
        try {
          return await within(PATIENCE, clock, () => once(...of))
        } catch (error) {
          if (error instanceof Error && error.message.startsWith('no answer')) discard()
          return error as Error
        }
      })
      last = work
      return work
    },
    close: async () => {
      await last
      await producer?.close()
    },
  }
}
