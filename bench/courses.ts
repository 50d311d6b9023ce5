import { Permanent, Transient } from '../src/core/errors.ts'
import type { Sql } from '../src/index.ts'
import type { Course } from './ours.ts'

/** Every event leaves a row of the user's own, in one commit with the mark that it is done. */
export const writesRow: Course = {
  handler: (take) => {
    let isThere = false
    return async ({ id, data }, ctx) => {
      await ctx.tx((database: Sql) => {
        if (!isThere) database.exec('CREATE TABLE IF NOT EXISTS receipt (event TEXT NOT NULL) STRICT')
        isThere = true
        database.prepare('INSERT INTO receipt VALUES (?)').run(id)
      })
      await take(data)
    }
  },
  ends: 'done',
  quiet: [],
}

/** Every event fails at its first attempt, as most do: while it waits for something. It succeeds at its second. */
export const failsOnce: Course = {
  handler:
    (take) =>
    async ({ data }, { attempt }) => {
      await null
      if (attempt === 1) throw new Transient('the first attempt fails')
      await take(data)
    },
  ends: 'done',
  quiet: ['failed', 'retry'],
}

/** No event can be saved. */
export const allDie: Course = {
  handler:
    (take) =>
    async ({ data }) => {
      await take(data)
      throw new Permanent('no use in trying')
    },
  ends: 'dead',
  quiet: ['failed', 'letter kept'],
}
