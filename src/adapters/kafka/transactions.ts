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

/** A transaction, and the producer that it is of. */
interface Open {
  readonly own: Producer
  readonly transaction: Transaction
}

const PATIENCE = 25_000
const ABORTING = 5_000
const ASK_AGAIN = 250
/** Numbers of nobody: the broker deals out new ones, and fences whoever had the old. */
const NOBODY = { producerId: -1n, producerEpoch: -1 }

/** One after the other: a producer has one transaction at a time. */
export const transactionsOf = (wire: Wire): Transactions => {
  const { clock, dice } = wire.tools
  const id = `reprieve-${dice.uuid()}`
  let producer: Producer | undefined
  let last: Promise<unknown> = Promise.resolve()

  const begin = async (): Promise<Open> => {
    producer ??= wire.transactor(id)
    const own = producer
    try {
      return { own, transaction: await own.beginTransaction(NOBODY as never) }
    } catch (error) {
      discard(own)
      throw error
    }
  }
  /** The next one begins anew under the same name, which ends whatever this one has left open. */
  const discard = (old: Producer | undefined) => {
    if (producer === old) producer = undefined
    old?.close().catch(() => {}) // its connections may be gone already
  }
  const abort = async ({ own, transaction }: Open) => {
    try {
      await within(ABORTING, clock, () => transaction.abort())
    } catch {
      discard(own)
    }
  }

  /** Whether a commit arrived whose answer did not: under the same name nothing is open any more. */
  const arrived = async (
    offsets: Offsets,
    commits: readonly Commit[],
    late: AbortSignal,
  ): Promise<boolean> => {
    for (;;) {
      try {
        const { transaction } = await begin()
        await transaction.cancel()
        const found = await offsets.committed(commits, true)
        return commits.every((each) => {
          const { offset, text } = found.get(placeOf(each)) ?? {}
          return offset === each.offset && text === each.text
        })
      } catch (error) {
        // to give up here is to write it twice, maybe: a broker that was killed is back soon
        if (late.aborted) throw error
        await clock.sleep(ASK_AGAIN, late)
      }
    }
  }

  const once = async (
    late: AbortSignal,
    [records, offsets, commits, as]: Parameters<Transactions['run']>,
  ): Promise<Committed> => {
    const open = await begin()
    const { own, transaction } = open
    try {
      for (const messages of loadsOf(records)) {
        wire.counts.produces++
        await transaction.send({ messages: messages as never[] })
      }
      await transaction.addConsumer({ groupId: offsets.group } as never)
      const within = { id, producerId: own.producerId!, producerEpoch: own.producerEpoch! }
      if ((await offsets.commitWithin(within, commits, as)) === 'fenced') {
        await abort(open)
        return 'fenced'
      }
    } catch (error) {
      await abort(open)
      // records are numbered, and one that never arrived leaves a gap: the broker would refuse all that follow
      discard(own)
      throw error
    }
    try {
      await transaction.commit()
    } catch (error) {
      discard(own)
      if (!(await arrived(offsets, commits, late))) throw error
    }
    return 'done'
  }

  const run: Transactions['run'] = async (...of) => {
    const late = new AbortController()
    try {
      return await within(PATIENCE, clock, () => once(late.signal, of))
    } catch (error) {
      // should it still be under way, the next one fences it
      if (error instanceof Error && error.message.startsWith('no answer')) discard(producer)
      return error as Error
    } finally {
      late.abort()
    }
  }

  return {
    run: (...of) => {
      const work = last.then(() => run(...of))
      last = work
      return work
    },
    close: async () => {
      await last
      await producer?.close()
    },
  }
}
