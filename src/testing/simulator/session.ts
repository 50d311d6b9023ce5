import type { Database, Open } from './database.ts'
import type { Concern } from './life.ts'

/** A connection in a transaction, as the server sees it. */
export interface Session {
  readonly open: Open
  readonly concerns: Concern[]
  lock(name: string): void
  commit(): void
  /** Undone, unless it was committed. */
  end(): void
}

export const openSession = (database: Database): Session => {
  const { promise, resolve } = Promise.withResolvers<void>()
  let ended = false
  let locked: string | undefined
  const mustLive = () => {
    if (ended) throw new Error('this connection was closed')
  }
  const session: Session = {
    open: database.begin(),
    concerns: [],
    lock: (name) => {
      mustLive()
      locked = name
      database.locks.set(name, promise)
    },
    commit: () => {
      mustLive()
      database.commit(session.open)
      session.end()
    },
    end: () => {
      if (ended) return
      ended = true
      if (locked !== undefined) database.locks.delete(locked)
      resolve()
    },
  }
  return session
}
