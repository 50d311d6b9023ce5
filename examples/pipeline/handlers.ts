import { Permanent, type Reprieve } from 'reprieve'

interface Row {
  readonly id: string
  readonly value?: number
}

/** Stands for a database that takes many rows at once, and says which it would not have. */
const insertAll = async (rows: readonly Row[]): Promise<ReadonlySet<string>> =>
  new Set(rows.filter(({ value }) => value === undefined || value < 0).map(({ id }) => id))

export default (app: Reprieve): void => {
  app
    .service('event-pipeline')
    // one insert for the whole batch; only the rows it would not have are buried
    .onBatch('ml.*', async (events, ctx) => {
      const refused = await insertAll(events.map(({ id, data }) => ({ id, value: data.value })))
      ctx.log(`${ctx.batcher}: ${events.length} from ${events[0]?.source}`)
      return events.map(({ id }) => (refused.has(id) ? new Permanent('the row was refused') : undefined))
    })
    // nothing to say: all done
    .onBatch('system.*', (events, ctx) =>
      ctx.log(`${ctx.batcher}: ${events.length} from ${events[0]?.source}`),
    )
}
