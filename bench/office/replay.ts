import { cpSync } from 'node:fs'
import { open as openSqlite } from '../../src/adapters/sqlite/index.ts'
import type { AppStore } from '../../src/contracts/store.ts'
import type { Transport } from '../../src/contracts/transport.ts'
import { createOffice } from '../../src/office/index.ts'
import { replayParcel } from '../../src/office/replay.ts'
import { freshFile } from '../embedded/file.ts'
import type { Contender, Heat } from '../harness.ts'
import { freshName } from '../load.ts'
import { fileWith, lettersFrom, serviceOf, TYPE, tools } from './letters.ts'
import { dropSchema, keepMany, openStoreAt, plainly, type Server } from './postgres.ts'
import { type Reading, readFile, readSchema } from './reading.ts'

/** As many as an operation sends at once. */
const BATCH = 50

const BY_HAND = 'by hand: read, forward, mark'

const address = { service: serviceOf(0), topic: TYPE, consumerGroup: serviceOf(0) }

interface Replaying {
  readonly transport: Transport
  readonly store: AppStore
  /** How many wait to be handled. */
  waiting(): Promise<number>
  /** The letters, as a plain driver reads them. */
  read(): Promise<Reading>
  close(): Promise<void>
}

/** A file with letters, which is the transport too. */
export const openCopy = async (folder: string, letters: number): Promise<Replaying> => {
  const copy = freshFile()
  cpSync(await fileWith(folder, letters, 0), copy.path)
  const { transport, store } = await openSqlite(copy.url, tools)
  const inlet = await transport.subscribe({
    ...{ ...address, types: [TYPE], order: 'none', destinations: [], lease: 60_000, window: 100 },
  })
  const close = async (): Promise<void> => {
    await inlet.close()
    await transport.close()
    await store.close()
    copy.clear()
  }
  const waiting = async () => (await inlet.lag()).waiting
  return { transport, store, waiting, read: async () => readFile(copy.path), close }
}

type OpenReplay = (events: number) => Promise<Replaying>

/** Letters in a schema of PostgreSQL; they go back by a SQLite file. */
export const openBeside = async (server: Server, letters: number): Promise<Replaying> => {
  const file = freshFile()
  const schema = `${server.run}_${freshName().slice(-9)}`
  const store = await openStoreAt(server, schema)
  await keepMany(store, letters, 0)
  await plainly(server, (client) => client.query(`VACUUM (ANALYZE) ${schema}.letter`))
  const { transport, store: own } = await openSqlite(file.url, tools)
  const inlet = await transport.subscribe({
    ...{ ...address, types: [TYPE], order: 'none', destinations: [], lease: 60_000, window: 100 },
  })
  const close = async (): Promise<void> => {
    await inlet.close()
    await transport.close()
    await own.close()
    await store.close()
    await dropSchema(server, schema)
    file.clear()
  }
  const waiting = async () => (await inlet.lag()).waiting
  return { transport, store, waiting, read: () => readSchema(server, schema), close }
}

/** Read by a plain driver and forwarded, fifty at a time, and nothing remembered of it. */
export const rawForwarding = (open: OpenReplay): Contender => ({
  name: 'raw',
  prepare: async (events): Promise<Heat> => {
    const { transport, waiting, read, close } = await open(events)
    return {
      run: async () => {
        const reading = await read()
        for (;;) {
          const some = await reading.next(BATCH)
          if (some.length === 0) break
          const now = tools.clock.now()
          await transport.forward(
            address,
            some.map((letter) => replayParcel({ letter }, 'nowhere', now)),
          )
        }
        await reading.close()
        return { events: await waiting() }
      },
      close,
    }
  },
})

/** The same with letters that are in memory already: what the transport takes by itself. */
export const rawUnread = (open: OpenReplay): Contender => ({
  name: 'raw, nothing to read',
  prepare: async (events): Promise<Heat> => {
    const { transport, waiting, close } = await open(events)
    const letters = lettersFrom(0, events, 0)
    return {
      run: async () => {
        for (let from = 0; from < events; from += BATCH) {
          const now = tools.clock.now()
          const some = letters.slice(from, from + BATCH)
          await transport.forward(
            address,
            some.map((letter) => replayParcel({ letter }, 'nowhere', now)),
          )
        }
        return { events: await waiting() }
      },
      close,
    }
  },
})

/** What one would write in an evening: read fifty that are open, forward them, mark them, the next fifty. */
export const byHand = (open: OpenReplay): Contender => ({
  name: BY_HAND,
  prepare: async (events): Promise<Heat> => {
    const { transport, store, waiting, close } = await open(events)
    return {
      run: async () => {
        for (;;) {
          const at = tools.clock.now()
          const some = await store.letters.find({ states: ['open'] }, BATCH)
          if (some.length === 0) return { events: await waiting() }
          await transport.forward(
            address,
            some.map((kept) => replayParcel(kept, 'nowhere', at)),
          )
          await store.letters.mark(
            some.map(({ letter }) => ({ id: letter.id, from: ['open'], to: 'replaying', at })),
          )
        }
      },
      close,
    }
  },
})

/** Found by a filter, frozen, read, marked with the audit, forwarded. */
export const replaying = (open: OpenReplay, aim: number): Contender => ({
  name: 'reprieve',
  aim,
  against: { [BY_HAND]: 0.5 },
  prepare: async (events): Promise<Heat> => {
    const { transport, store, waiting, close } = await open(events)
    const office = await createOffice({ transport, store, tools })
    return {
      run: async () => {
        const { sent, skipped } = await office.replay({ service: address.service })
        if (skipped.length > 0) throw new Error(`${skipped.length} were not sent`)
        const there = await waiting()
        return { events: Math.min(there, sent.length) }
      },
      close: async () => {
        await office.close()
        await close()
      },
    }
  },
})
