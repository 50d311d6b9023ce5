import { randomBytes } from 'node:crypto'
import { createClient } from '@redis/client'
import { open } from '../../src/adapters/redis/index.ts'
import { systemDice } from '../../src/adapters/system/dice.ts'
import type { Fact } from '../../src/contracts/journal.ts'
import type { Store } from '../../src/contracts/store.ts'
import { type TurnedClock, turnedClock } from './clock.ts'

/** Connections to one server, under a prefix of their own that is cleared away in the end. */
export interface Desk {
  readonly clock: TurnedClock
  readonly facts: Fact[]
  /** At another address where a test has a wire in between. */
  open(more?: Readonly<Record<string, string>>, by?: string): Promise<Store>
  name(prefix: string): string
  close(): Promise<void>
}

export const deskAt = async (url: string): Promise<Desk> => {
  const prefix = `test-${randomBytes(6).toString('hex')}`
  const clock = turnedClock()
  const facts: Fact[] = []
  const tools = { clock, dice: systemDice(), journal: (fact: Fact) => void facts.push(fact) }
  const opened: Store[] = []
  let names = 0
  return {
    clock,
    facts,
    open: async (more = {}, by = url) => {
      const at = new URL(by)
      for (const [name, value] of Object.entries({ prefix, ...more })) at.searchParams.set(name, value)
      const { store } = await open(at.href, tools)
      opened.push(store)
      return store
    },
    name: (word) => `${word}-${++names}`,
    close: async () => {
      for (const store of opened) await store.close()
      const client = await createClient({ url }).connect()
      for await (const keys of client.scanIterator({ MATCH: `${prefix}:*`, COUNT: 1000 })) {
        if (keys.length > 0) await client.del(keys)
      }
      client.destroy()
    },
  }
}
