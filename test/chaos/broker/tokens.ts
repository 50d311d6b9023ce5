import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { systemClock } from '../../../src/adapters/system/clock.ts'

/** I4: looks at the claims in a store's file every second, by a plain client of SQLite. */
export interface Tokens {
  /** Claims whose token was less than it had been. */
  readonly fell: ReadonlySet<string>
  /** Rejects where no claim was ever seen: then nothing was shown. */
  close(): Promise<void>
}

export const watchTokens = (path: string): Tokens => {
  const over = new AbortController()
  const newest = new Map<string, number>()
  const fell = new Set<string>()

  const look = (): void => {
    const database = new DatabaseSync(path, { readOnly: true })
    try {
      for (const row of database.prepare('SELECT service, id, token FROM reprieve_ledger').all()) {
        const [claim, token] = [`${row.service} ${row.id}`, Number(row.token)]
        const before = newest.get(claim)
        if (before !== undefined && token < before) fell.add(claim)
        newest.set(claim, token)
      }
    } finally {
      database.close()
    }
  }
  const watch = async (): Promise<void> => {
    while (!over.signal.aborted) {
      await systemClock.sleep(1_000, over.signal)
      try {
        if (existsSync(path)) look()
      } catch {
        // its tables are not made yet, or somebody has it for himself just now
      }
    }
  }
  const watching = watch()
  return {
    fell,
    close: async () => {
      over.abort()
      await watching
      if (newest.size === 0) throw new Error('no claim was ever seen in the ledger')
    },
  }
}
