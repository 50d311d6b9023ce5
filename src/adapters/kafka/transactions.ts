import { CODE, hasCode } from './errors.ts'
import type { Commit, Committed, Membership, Offsets } from './offsets.ts'
import { asMessage, loadsOf, type Outgoing } from './outgoing.ts'
import { standingOf } from './standing.ts'
import { endEmpty, ledNow, type Open, transactorOf, Unled } from './transactor.ts'
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

type Work = Parameters<Transactions['run']>

/** One of which nobody knows how it ended, if at all. */
interface Doubt {
  readonly work: Work
  /** It was to be committed: until then it can only have been aborted. */
  asked: boolean
  /** Whoever asked for it still waits; else others do, and no commit is made meanwhile. */
  ours: boolean
}

const PATIENCE = 25_000
const ABORTING = 5_000
const ASK_AGAIN = 250
const NOT_READY = [CODE.coordinatorLoading, CODE.coordinatorAbsent, CODE.coordinatorElsewhere]

/** One after the other: a producer has one transaction at a time. */
export const transactionsOf = (wire: Wire): Transactions => {
  const { clock } = wire.tools
  const transactor = transactorOf(wire)
  let doubt: Doubt | undefined
  let last: Promise<unknown> = Promise.resolve()

  const known = (one: Doubt) => {
    if (doubt === one) doubt = undefined
  }
  const abort = async (open: Open, mine: Doubt) => {
    try {
      await within(ABORTING, clock, () => transactor.end(open, 'abort', { records: mine.work[0], by: '' }))
      known(mine)
    } catch {
      transactor.discard(open.own)
    }
  }

  /**
   * Whether it has happened; what hangs of it is ended as that. Offsets that are not there will be settled again, so the
   * records that go with them must not be: they are aborted. Else nobody may bring them again, and they are
   * committed; if somebody does after all, the second copy is known by its id.
   */
  const clearUp = async (left: Doubt, late: AbortSignal): Promise<boolean> => {
    const [records, offsets, commits] = left.work
    for (;;) {
      late.throwIfAborted()
      let open: Open | undefined
      try {
        // under the same name, after which the broker calls nothing open any more
        open = await transactor.begin()
        const standing = left.asked ? await standingOf(offsets, commits) : 'absent'
        await endEmpty(transactor, open, standing === 'absent' ? 'abort' : 'commit', records, offsets.group)
        known(left)
        return standing === 'there'
      } catch (error) {
        if (open) transactor.discard(open.own)
        // to give up here is to write it twice, maybe: a broker that was killed is back soon
        if (late.aborted || (error instanceof Unled && !left.ours)) throw error
        await clock.sleep(ASK_AGAIN, late)
      }
    }
  }

  /** Brokers that never had a transaction, or have just changed who looks after ours, take a while to get ready. */
  const begin = async (late: AbortSignal): Promise<Open> => {
    for (;;) {
      try {
        return await transactor.begin()
      } catch (error) {
        if (late.aborted || !hasCode(error, ...NOT_READY)) throw error
        await clock.sleep(ASK_AGAIN, late)
      }
    }
  }

  const write = async ({ own, transaction }: Open, [records, offsets, commits, as]: Work) => {
    for (const load of loadsOf(records)) {
      wire.counts.produces++
      await transaction.send({ messages: load.map(asMessage) as never[] })
    }
    await transaction.addConsumer({ groupId: offsets.group } as never)
    const { id } = transactor
    const within = { id, producerId: own.producerId!, producerEpoch: own.producerEpoch! }
    return offsets.commitWithin(within, commits, as)
  }

  const once = async (late: AbortSignal, work: Work): Promise<Committed> => {
    if (doubt) await clearUp(Object.assign(doubt, { ours: false }), late)
    const open = await begin(late)
    // as the client knows it, who asks for it now and then anyway
    const led = await ledNow(open.own, work[0], false)
    late.throwIfAborted()
    const mine: Doubt = { work, asked: false, ours: true }
    doubt = mine
    let written: 'done' | 'fenced'
    try {
      written = await write(open, work)
      late.throwIfAborted()
    } catch (error) {
      await abort(open, mine)
      // records are numbered, and one that never arrived leaves a gap: the broker would refuse all that follow
      transactor.discard(open.own)
      throw error
    }
    if (written === 'fenced') {
      await abort(open, mine)
      // nobody may ever settle it again, so this is the time to do it
      if (doubt === mine) await clearUp(mine, late)
      return 'fenced'
    }
    mine.asked = true
    try {
      await transactor.end(open, 'commit', led)
      known(mine)
    } catch (error) {
      transactor.discard(open.own)
      if (!(await clearUp(mine, late))) throw error
    }
    return 'done'
  }

  const run: Transactions['run'] = async (...work) => {
    const late = new AbortController()
    try {
      return await within(PATIENCE, clock, () => once(late.signal, work))
    } catch (error) {
      // should it still be under way, the next one fences it
      transactor.renew()
      return error as Error
    } finally {
      late.abort()
    }
  }

  return {
    run: (...work) => {
      const result = last.then(() => run(...work))
      last = result
      return result
    },
    close: async () => {
      await last
      await transactor.close()
    },
  }
}
