import pg from 'pg'
import { type Letter, letterEvent } from '../../src/core/letter.ts'
import type { Contender, Heat } from '../harness.ts'
import { BATCH, freshName } from '../load.ts'
import { lettersFrom } from './letters.ts'
import { dropSchema, openStoreAt, type Server } from './postgres.ts'

/** What one would write by hand, as for SQLite. */
const PG_SCHEMA = `
CREATE TABLE letter (
  id text PRIMARY KEY,
  buried_at bigint NOT NULL,
  service text NOT NULL,
  error text NOT NULL,
  state text NOT NULL,
  envelope bytea NOT NULL
);
CREATE INDEX letter_state ON letter (state, buried_at);
`
const WIDTH = 6
const rowsOf = (count: number): string =>
  Array.from({ length: count }, (_, row) => {
    const places = Array.from({ length: WIDTH }, (_, column) => `$${row * WIDTH + column + 1}`)
    return `(${places.join(', ')})`
  }).join(', ')

/** The same in PostgreSQL: a hundred rows in one statement. */
export const rawInsertingAt = (server: Server): Contender => ({
  name: 'raw',
  prepare: async (events): Promise<Heat> => {
    const schema = `${server.run}_${freshName().slice(-9)}`
    const client = new pg.Client({ connectionString: server.url })
    await client.connect()
    await client.query(`CREATE SCHEMA ${schema}; SET search_path TO ${schema}; ${PG_SCHEMA}`)
    const letters = lettersFrom(0, events)
    const insert = async (some: readonly Letter[]): Promise<number> => {
      const { rowCount } = await client.query({
        name: `insert ${some.length}`,
        text: `INSERT INTO letter VALUES ${rowsOf(some.length)} ON CONFLICT DO NOTHING`,
        values: some.flatMap((letter) => {
          const { id, buriedAt, service, error } = letter
          return [id, buriedAt, service, error, 'open', letterEvent(letter).data]
        }),
      })
      return rowCount ?? 0
    }
    return {
      run: async () => {
        let kept = 0
        for (let from = 0; from < events; from += BATCH)
          kept += await insert(letters.slice(from, from + BATCH))
        return { events: kept }
      },
      close: async () => {
        await client.end()
        await dropSchema(server, schema)
      },
    }
  },
})

export const keepingAt = (server: Server, name: string, aim: number): Contender => ({
  name,
  aim,
  prepare: async (events): Promise<Heat> => {
    const schema = `${server.run}_${freshName().slice(-9)}`
    const store = await openStoreAt(server, schema)
    const letters = lettersFrom(0, events)
    return {
      run: async () => {
        let kept = 0
        for (let from = 0; from < events; from += BATCH)
          kept += await store.letters.keep(letters.slice(from, from + BATCH))
        return { events: kept }
      },
      close: async () => {
        await store.close()
        await dropSchema(server, schema)
      },
    }
  },
})
