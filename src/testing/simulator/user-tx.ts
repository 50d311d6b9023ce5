import type { Tx } from '../../contracts/tx.ts'
import { type Client, nameOf } from './database.ts'
import { type DatabaseMeans, outboxOf } from './outbox.ts'
import { openSession, type Session } from './session.ts'

/** Transactions in a database of the user's: every word to it can go wrong, and whoever dies leaves nothing behind. */
export const userTx = (means: DatabaseMeans): Tx<Client> => {
  const { database, life } = means
  const opened = new Map<Client, Session>()

  return {
    name: 'theirs',
    run: async (work, signal) => {
      await life.gate('begin', [], () => undefined)
      signal.throwIfAborted()
      const session = openSession(database)
      const { client } = session.open
      opened.set(client, session)
      const doing = async () => {
        const value = await work(client)
        await life.gate('commit', session.concerns, () => session.commit())
        return value
      }
      const cut = Promise.withResolvers<never>()
      cut.promise.catch(() => {}) // it may be over already
      const undo = () => {
        session.end()
        cut.reject(signal.reason)
      }
      signal.addEventListener('abort', undo, { once: true })
      life.gone.addEventListener('abort', session.end, { once: true })
      try {
        return await Promise.race([cut.promise, doing()])
      } finally {
        signal.removeEventListener('abort', undo)
        life.gone.removeEventListener('abort', session.end)
        opened.delete(client)
        session.end()
      }
    },
    finish: async (client, mark) => {
      const session = opened.get(client)!
      session.concerns.push(mark)
      await life.gate('mark', session.concerns, () => undefined)
      // of two with the same event one waits here
      for (let other = database.locks.get(nameOf(mark)); other; other = database.locks.get(nameOf(mark))) {
        await other
        await life.step()
      }
      session.lock(nameOf(mark))
      const marked = database.met(mark)
      if (marked === 'fresh') session.open.mark = mark
      return marked
    },
    publish: (client, events) =>
      life.gate('keep events', opened.get(client)?.concerns ?? [], () => {
        opened.get(client)?.open.events.push(...events)
      }),
    outbox: outboxOf(means),
  }
}
