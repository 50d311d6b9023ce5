import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import { open } from '../../src/adapters/postgres/index.ts'
import { systemDice } from '../../src/adapters/system/dice.ts'
import type { Fact } from '../../src/contracts/journal.ts'
import type { Store } from '../../src/contracts/store.ts'
import { type TurnedClock, turnedClock } from './clock.ts'

type Rows = readonly Readonly<Record<string, unknown>>[]

/** Connections to one database, in a schema of their own that is dropped in the end. */
export interface Desk {
  readonly clock: TurnedClock
  readonly facts: Fact[]
  readonly schema: string
  /** At another address where a test has a wire in between. */
  open(more?: Readonly<Record<string, string>>, by?: string): Promise<Store>
  /** Past the adapter. */
  ask(text: string): Promise<Rows>
  name(prefix: string): string
  close(): Promise<void>
}

export const deskAt = async (url: string): Promise<Desk> => {
  const schema = `test_${randomBytes(6).toString('hex')}`
  const clock = turnedClock()
  const facts: Fact[] = []
  const opened: Store[] = []
  let names = 0
  const ask = (text: string) => plainly(url, text)
  return {
    clock,
    facts,
    schema,
    ask,
    open: async (more = {}, by = url) => {
      const at = new URL(by)
      for (const [name, value] of Object.entries({ schema, ...more })) at.searchParams.set(name, value)
      const tools = { clock, dice: systemDice(), journal: (fact: Fact) => void facts.push(fact) }
      const { store } = await open(at.href, tools)
      opened.push(store)
      return store
    },
    name: (word) => `${word}-${++names}`,
    close: async () => {
      for (const store of opened) {
        await store.companion?.close()
        await store.close()
      }
      await ask(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
    },
  }
}

/** An address in a schema of its own, which is dropped after the test. Whoever uses it closes before. */
export const ownSchema = (url: string): string => {
  const at = new URL(url)
  const schema = `test_${randomBytes(6).toString('hex')}`
  at.searchParams.set('schema', schema)
  onTestFinished(async () => void (await plainly(url, `DROP SCHEMA IF EXISTS ${schema} CASCADE`)))
  return at.href
}

/** By plain SQL, past all of ours. The schema of that address is the one that names without one are looked up in. */
export const plainly = async (url: string, text: string): Promise<Rows> => {
  const at = new URL(url)
  const schema = at.searchParams.get('schema')
  at.searchParams.delete('schema')
  const client = new pg.Client({ connectionString: at.href })
  await client.connect()
  try {
    if (schema !== null) await client.query(`SET search_path TO ${schema}`)
    return (await client.query(text)).rows as Rows
  } finally {
    await client.end()
  }
}
