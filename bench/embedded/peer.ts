import { PgBoss } from 'pg-boss'
import type { Contender, Heat } from '../harness.ts'
import { BATCH, batches, counter, freshName, type Order } from '../load.ts'

/**
 * pg-boss, on a PostgreSQL that waits for its disk at each commit, as SQLite does here. By its fetch, fail and complete, a
 * batch in each call, rather than by `work`, whose pauses between polls would be all that is measured.
 */
export const bossFailingOnce = (url: string): Contender => ({
  name: 'pg-boss',
  prepare: async (events): Promise<Heat> => {
    const schema = freshName().replaceAll('-', '_')
    const boss = new PgBoss({ connectionString: url, schema, supervise: false, schedule: false })
    boss.on('error', () => {})
    await boss.start()
    await boss.createQueue(QUEUE)
    for (const orders of batches(events)) {
      await boss.insert(
        QUEUE,
        orders.map((data) => ({ data, retryLimit: 1, retryDelay: 0 })),
      )
    }
    const { handle, seen } = counter(events)
    const attempt = async (data: Order, tries: number): Promise<void> => {
      await null
      if (tries === 0) throw new Error('the first attempt fails')
      await handle(data)
    }
    let why = new Error('none yet')
    return {
      run: async () => {
        for (let ended = 0; ended < events; ) {
          const jobs = await boss.fetch<Order>(QUEUE, { batchSize: BATCH, includeMetadata: true })
          const failed: string[] = []
          const done: string[] = []
          for (const { id, data, retryCount } of jobs) {
            try {
              await attempt(data, retryCount)
              done.push(id)
            } catch (error) {
              why = error as Error
              failed.push(id)
            }
          }
          if (failed.length > 0) await boss.fail(QUEUE, failed, why)
          if (done.length > 0) await boss.complete(QUEUE, done)
          ended += done.length
        }
        return { events: seen() }
      },
      close: async () => {
        await boss.getDb().executeSql(`DROP SCHEMA ${schema} CASCADE`)
        await boss.stop({ graceful: false })
      },
    }
  },
})

const QUEUE = 'orders'
