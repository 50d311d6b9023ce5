import type { Producer } from './client.ts'
import { CODE, hasCode } from './errors.ts'
import { type Commit, type Committed, type Membership, type Offsets, placeOf } from './offsets.ts'
import { asMessage, loadsOf, type Outgoing } from './outgoing.ts'
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

type Work = Parameters<Transactions['run']>

/** What the client says when an operation of its own has failed and is tried again. */
export const TRIES_AGAIN = 'client:performWithRetry:retry'
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

  /**
   * Whether a commit arrived whose answer did not, or came only when the broker was there again: under the same name
   * nothing is open any more. What has not arrived is wiped out wherever it may have left something.
   */
  const arrived = async ([records, offsets, commits]: Work, late: AbortSignal): Promise<boolean> => {
    for (;;) {
      try {
        const open = await begin()
        await open.transaction.cancel()
        if (await isThere(offsets, commits)) return true
        await wipe(records, offsets.group)
        return false
      } catch (error) {
        // to give up here is to write it twice, maybe: a broker that was killed is back soon
        if (late.aborted) throw error
        await clock.sleep(ASK_AGAIN, late)
      }
    }
  }

  /** One that writes nothing and is aborted: with its marks ends whatever was left open in the same partitions. */
  const wipe = async (records: readonly Outgoing[], groupId: string): Promise<void> => {
    const { own, transaction } = await begin()
    try {
      const topics = [...new Set(records.map(({ topic }) => topic))]
      await transaction.addPartitions(await own.metadata({ topics }), records.map(asMessage) as never[])
      await transaction.addConsumer({ groupId } as never)
      await transaction.abort()
    } catch (error) {
      discard(own)
      throw error
    }
  }

  /**
   * A broker that was killed and came back may call a transaction committed whose marks it never writes: partitions that it
   * does not know of yet it takes for deleted ones. So only what is told at once is believed.
   */
  const commit = async ({ own, transaction }: Open): Promise<void> => {
    let again = false
    const notice = (operation: string) => {
      again ||= operation === 'endTransaction'
    }
    own.on(TRIES_AGAIN as never, notice as never)
    try {
      await transaction.commit()
    } finally {
      own.off(TRIES_AGAIN as never, notice as never)
    }
    if (again) throw new Error('the broker went away while a transaction was being committed')
  }

  const once = async (late: AbortSignal, work: Work): Promise<Committed> => {
    const [records, offsets, commits, as] = work
    const open = await begin()
    const { own, transaction } = open
    try {
      for (const load of loadsOf(records)) {
        wire.counts.produces++
        await transaction.send({ messages: load.map(asMessage) as never[] })
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
      await commit(open)
    } catch (error) {
      discard(own)
      if (!(await arrived(work, late))) throw error
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

/** Nothing of it is pending: else a transaction that the broker calls ended has not been ended there. */
const isThere = async (offsets: Offsets, commits: readonly Commit[]): Promise<boolean> => {
  try {
    const found = await offsets.committed(commits, true)
    return commits.every((each) => {
      const { offset, text } = found.get(placeOf(each)) ?? {}
      return offset === each.offset && text === each.text
    })
  } catch (error) {
    if (hasCode(error, CODE.unstable)) return false
    throw error
  }
}
