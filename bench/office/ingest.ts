import { DatabaseSync } from 'node:sqlite'
import { open as openSqlite } from '../../src/adapters/sqlite/index.ts'
import { letterEvent } from '../../src/core/letter.ts'
import { createOffice } from '../../src/office/index.ts'
import { freshFile } from '../embedded/file.ts'
import { nextTurn } from '../embedded/raw.ts'
import type { Contender, Heat } from '../harness.ts'
import { BATCH } from '../load.ts'
import { lettersFrom, TYPE, tools } from './letters.ts'

/** What one would write by hand to keep dead letters: what is asked for often in columns, one index, all of it as JSON. */
const SCHEMA = `
CREATE TABLE letter (
  id TEXT PRIMARY KEY,
  buried_at INTEGER NOT NULL,
  service TEXT NOT NULL,
  error TEXT NOT NULL,
  state TEXT NOT NULL,
  envelope BLOB NOT NULL
) STRICT;
CREATE INDEX letter_state ON letter (state, buried_at);
`
const INSERT = 'INSERT INTO letter VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING'

export const rawInserting: Contender = {
  name: 'raw',
  prepare: async (events): Promise<Heat> => {
    const { path, clear } = freshFile()
    const database = new DatabaseSync(path)
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -16000')
    database.exec(SCHEMA)
    const insert = database.prepare(INSERT)
    const letters = lettersFrom(0, events)
    return {
      run: async () => {
        let kept = 0
        for (let from = 0; from < events; from += BATCH) {
          database.exec('BEGIN IMMEDIATE')
          for (const letter of letters.slice(from, from + BATCH)) {
            const { id, buriedAt, service, error } = letter
            kept += Number(insert.run(id, buriedAt, service, error, 'open', letterEvent(letter).data).changes)
          }
          database.exec('COMMIT')
          await nextTurn()
        }
        return { events: kept }
      },
      close: async () => {
        database.close()
        clear()
      },
    }
  },
}

/** With groups, tallies and arrivals in the same commit. */
export const keeping = (name: string, aim: number): Contender => ({
  name,
  aim,
  prepare: async (events): Promise<Heat> => {
    const { url, clear } = freshFile()
    const { transport, store } = await openSqlite(url, tools)
    const letters = lettersFrom(0, events)
    return {
      run: async () => {
        let kept = 0
        for (let from = 0; from < events; from += BATCH)
          kept += await store.letters.keep(letters.slice(from, from + BATCH))
        return { events: kept }
      },
      close: async () => {
        await transport.close()
        await store.close()
        clear()
      },
    }
  },
})

/** The whole way: from the destination where services bury, leased, kept, and acknowledged after. */
export const takingOver = (name: string, aim: number): Contender => ({
  name,
  aim,
  prepare: async (events): Promise<Heat> => {
    const { url, clear } = freshFile()
    const { transport, store } = await openSqlite(url, tools)
    const destination = { name: '_svc.deadletter' }
    const service = 'svc'
    const inlet = await transport.subscribe({
      ...{ service, topic: TYPE, consumerGroup: service, types: [TYPE], order: 'none' },
      ...{ destinations: [destination], lease: 60_000, window: BATCH },
    })
    const letters = lettersFrom(0, events)
    for (let from = 0; from < events; from += BATCH) {
      const some = letters.slice(from, from + BATCH)
      await transport.publish(
        TYPE,
        some.map(({ event }) => event),
      )
      const batch = await inlet.receive(BATCH, new AbortController().signal)
      const byEvent = new Map(some.map((letter) => [letter.event.id, letter]))
      await inlet.settle(
        batch.map((delivery) => ({
          ...{ do: 'bury', delivery, to: destination.name },
          letter: { ...byEvent.get(delivery.parcel.event.id)!, destination: destination.name },
        })),
      )
    }
    await inlet.close()
    const office = await createOffice({ transport, store, tools })
    return {
      run: async () => ({ events: await office.catchUp([destination], new AbortController().signal) }),
      close: async () => {
        await office.close()
        await transport.close()
        await store.close()
        clear()
      },
    }
  },
})
