import type { Fate } from './batch.ts'
import { throughOf } from './batch.ts'
import type { Outlet } from './outlet.ts'

/**
 * An outlet for each exchange that is sent through, and so for each tier and for the dead of each subscription. The broker waits
 * with all that a channel says for a queue that does not answer: it must hold up nobody who does not want to go there.
 */
export const openWays = (open: () => Outlet): Outlet => {
  const ways = new Map<string, Outlet>()
  const wayTo = (exchange: string): Outlet => {
    const way = ways.get(exchange) ?? open()
    ways.set(exchange, way)
    return way
  }
  return {
    send: async (items, first) => {
      const groups = Map.groupBy(items.keys(), (i) => throughOf(items[i]!))
      const fates: Fate[] = new Array(items.length)
      const send = async (exchange: string, places: readonly number[]): Promise<void> => {
        const some = places.length === items.length ? items : places.map((i) => items[i]!)
        const answers = await wayTo(exchange).send(some, first)
        for (const [n, i] of places.entries()) fates[i] = answers[n]!
      }
      await Promise.all([...groups].map(([exchange, places]) => send(exchange, places)))
      return fates
    },
    foresee: () => wayTo('').foresee(),
    close: () => {
      for (const way of ways.values()) way.close()
    },
  }
}
