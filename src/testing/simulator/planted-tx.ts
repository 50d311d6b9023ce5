import type { Mark, Marked, Tx } from '../../contracts/tx.ts'
import type { Client } from './database.ts'
import type { Plant } from './plant.ts'

const NEVER = new AbortController().signal

/** What the inbox says, and nothing of it stays. */
const look = async (tx: Tx<Client>, mark: Mark): Promise<Marked> => {
  let marked: Marked | undefined
  const undone = new Error('only a look')
  await tx
    .run(async (client) => {
      marked = await tx.finish(client, mark)
      throw undone
    }, NEVER)
    .catch((error) => {
      if (error !== undone) throw error
    })
  return marked!
}

/** Bugs in what must be one commit. */
export const TX_BUGS: readonly Plant[] = [
  {
    name: 'mark apart, before',
    what: 'an event is marked as done in a commit of its own, before its effect',
    breaks: ['I2', 'I3'],
    tx: (tx) => ({ ...tx, finish: (_, mark) => tx.run((client) => tx.finish(client, mark), NEVER) }),
  },
  {
    name: 'mark apart, after',
    what: 'an event is marked as done in a commit of its own, after its effect',
    breaks: ['I3'],
    tx: (tx) => {
      const marks = new Map<Client, Mark>()
      return {
        ...tx,
        finish: async (client, mark) => {
          marks.set(client, mark)
          return look(tx, mark)
        },
        run: async (work, signal) => {
          let own: Client | undefined
          const value = await tx.run((client) => {
            own = client
            return work(client)
          }, signal)
          const mark = marks.get(own!)
          if (mark) await tx.run((client) => tx.finish(client, mark), NEVER)
          return value
        },
      }
    },
  },
  {
    name: 'effect apart from the ack',
    what: 'where effect and ack should be one commit the effect stays, though the event was no longer ours',
    breaks: ['I3'],
    apart: true,
  },
  {
    name: 'published before the commit',
    what: 'what a transaction publishes goes out at once',
    breaks: ['I3'],
    tx: (tx, transport) => ({ ...tx, publish: (_, events) => transport.publish('sum.told', events) }),
  },
  {
    name: 'outbox forgets first',
    what: 'what waits in the outbox is forgotten before it is published',
    breaks: ['I1'],
    outbox: (outbox) => ({
      relay: async (most, now, publish) => {
        const all: Parameters<typeof publish>[0][number][] = []
        const count = await outbox.relay(most, now, async (events) => {
          all.push(...events)
          return events.map(() => true)
        })
        if (all.length > 0) await publish(all)
        return count
      },
    }),
  },
]
