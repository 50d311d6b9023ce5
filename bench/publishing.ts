import type { Contender, Heat } from './harness.ts'
import { batches, type Order } from './load.ts'

/** Where events are published to, by one who resolves when all of a batch are durable. */
export interface Outgoing {
  publish(orders: readonly Order[]): Promise<void>
  close(): Promise<void>
}

/** One batch after the other; the first goes ahead of the heat, so that it begins with all that a connection needs. */
export const publishing = (name: string, open: () => Promise<Outgoing>): Contender => ({
  name,
  prepare: async (events): Promise<Heat> => {
    const { publish, close } = await open()
    const load = [...batches(events)]
    await publish(load[0]!)
    return {
      run: async () => {
        let published = 0
        for (const orders of load) {
          await publish(orders)
          published += orders.length
        }
        return { events: published }
      },
      close,
    }
  },
})
