import type { Mark, Tx } from '../contracts/tx.ts'
import type { Event } from '../core/event.ts'
import { isSamePayload } from '../core/ledger.ts'

/**
 * Transactions for tests: `client` is handed to the functions of `ctx.tx`, one after another. Marks and events are kept
 * only where the function resolved; what it did to the client can't be undone here.
 */
export const memoryTx = <Client>(client: Client): Tx<Client> => {
  const inbox = new Map<string, Mark>()
  let outbox: Event[] = []
  let marks: Mark[] = []
  let events: Event[] = []
  let within = false
  let last: Promise<unknown> = Promise.resolve()
  return {
    name: 'memory',
    run: (work, signal) => {
      const run = last.then(async () => {
        marks = []
        events = []
        signal.throwIfAborted()
        within = true
        const value = await work(client).finally(() => {
          within = false
        })
        signal.throwIfAborted()
        for (const mark of marks) inbox.set(nameOf(mark), mark)
        outbox.push(...events)
        return value
      })
      last = run.catch(() => {}) // told to whoever ran it
      return run
    },
    finish: async (_, mark) => {
      const known = inbox.get(nameOf(mark))
      if (known && known.until > mark.now) return isSamePayload(known.hash, mark.hash) ? 'done' : 'conflict'
      marks.push(mark)
      return 'fresh'
    },
    publish: async (_, kept) => void (within ? events : outbox).push(...kept),
    outbox: {
      relay: async (most, _, publish) => {
        const batch = outbox.slice(0, most)
        if (batch.length === 0) return 0
        const relayed = await publish(batch)
        const gone = new Set(batch.filter((_, i) => relayed[i] === true))
        outbox = outbox.filter((event) => !gone.has(event))
        return gone.size
      },
    },
  }
}

export interface WatchedTx {
  readonly tx: Tx
  /** How many events were kept and not yet published. */
  waiting(): number
}

/** Counts what is in an outbox, seen from outside; what was undone is not in it. */
export const watchTx = (tx: Tx): WatchedTx => {
  const kept = new Set<string>()
  const { outbox } = tx
  return {
    waiting: () => (outbox ? kept.size : 0),
    tx: {
      ...tx,
      // those of one that is undone after all are never relayed; each client is in one transaction at a time
      run: (work, signal) => {
        const before = new Set(kept)
        return tx.run(work, signal).catch((error) => {
          for (const id of kept) if (!before.has(id)) kept.delete(id)
          throw error
        })
      },
      publish: async (client, events) => {
        await tx.publish(client, events)
        for (const { id } of events) kept.add(id)
      },
      ...(outbox && {
        outbox: {
          ...outbox,
          relay: (most, now, publish) =>
            outbox.relay(most, now, async (events) => {
              const relayed = await publish(events)
              for (const [i, { id }] of events.entries()) if (relayed[i] === true) kept.delete(id)
              return relayed
            }),
        },
      }),
    },
  }
}

const nameOf = ({ service, id }: Mark): string => JSON.stringify([service, id])
