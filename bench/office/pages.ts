import { DatabaseSync } from 'node:sqlite'
import { open as openMemory } from '../../src/adapters/memory/index.ts'
import type { File } from '../../src/adapters/sqlite/file.ts'
import { open as openSqlite } from '../../src/adapters/sqlite/index.ts'
import { page } from '../../src/adapters/sqlite/letter-pages.ts'
import type { LetterFilter } from '../../src/contracts/letters.ts'
import type { AppStore } from '../../src/contracts/store.ts'
import type { Transport } from '../../src/contracts/transport.ts'
import { createOffice, type Office } from '../../src/office/index.ts'
import type { Contender, Heat, Probe, Race } from '../harness.ts'
import { fileWith, groupOf, serviceOf, tools } from './letters.ts'
import { openStoreAt, type Server, schemaWith } from './postgres.ts'

export const TIMES = 100
/** Fewer than this, and a page would not be full. */
const LEAST = 3000
export const few = (events: number): number => Math.max(LEAST, events)
export const many = (events: number): number => Math.max(2 * LEAST, events * TIMES)

export const PAGE = 50
/** So many looks; fewer where a run is short. */
const LOOKS = 200

/** The letters of one service, of two causes it has, that are open. */
export const FILTER: LetterFilter = { service: serviceOf(0), category: 'transient', states: ['open'] }

const LOOK: Readonly<Record<string, (office: Office) => Promise<unknown>>> = {
  'a filtered page': (office) => office.find(FILTER, { limit: PAGE }),
  'a group and a page of it': async (office) => {
    await office.group(groupOf(7))
    await office.find({ fingerprint: groupOf(7) }, { limit: PAGE })
  },
  'groups and stats': async (office) => {
    await office.groups()
    await office.stats()
  },
}

/** Where letters lie, so many of them, and an office that looks at them. */
type OpenAmong = (count: number) => Promise<{ readonly office: Office; close(): Promise<void> }>

/** How many letters there are besides those one looks at makes no difference: the same looks, a hundred times the letters. */
const racesAmong = (open: OpenAmong, suffix: string): readonly Race[] =>
  Object.entries(LOOK).map(([name, look]) => ({
    name: `${name}${suffix}`,
    share: 0.1,
    contenders: [
      among('among as many as events', (events) => open(few(events)), look),
      {
        ...among(`among ${TIMES} times as many`, (events) => open(many(events)), look),
        ...{ aim: 0.5, aimsAtCpu: true },
      },
    ],
  }))

export const pageRaces = (folder: string): readonly Race[] =>
  racesAmong(async (count) => {
    const { transport, store } = await openSqlite(`sqlite:${await fileWith(folder, count)}`, tools)
    return officeAt(transport, store)
  }, '')

/** Their processor time is the server's: the aim is one of the time it takes. */
export const pageRacesAt = (server: Server): readonly Race[] =>
  racesAmong(async (count) => {
    const { transport } = await openMemory('memory:', tools)
    return officeAt(transport, await openStoreAt(server, await schemaWith(server, count)))
  }, ', PostgreSQL').map((race) => ({
    ...race,
    contenders: race.contenders.map(({ aimsAtCpu: _, ...each }) => each) as unknown as Race['contenders'],
  }))

const officeAt = async (transport: Transport, store: AppStore) => {
  const office = await createOffice({ transport, store, tools })
  return {
    office,
    close: async () => {
      await office.close()
      await transport.close()
      await store.close()
    },
  }
}

const among = (
  name: string,
  open: (events: number) => ReturnType<OpenAmong>,
  look: (office: Office) => Promise<unknown>,
): Contender => ({
  name,
  prepare: async (events): Promise<Heat> => {
    const { office, close } = await open(events)
    await look(office)
    return {
      run: async () => {
        const looks = Math.min(LOOKS, events)
        for (let looked = 0; looked < looks; looked++) await look(office)
        return { events }
      },
      close,
    }
  },
})

export const ROWS = 'rows read for a page of 50, times as many'
export const KEPT = 'rows of groups and tallies, times as many'

/** Counted by a function of ours inside the question, not guessed. */
export const rowsProbe = (folder: string): Probe => ({
  name: `${TIMES} times the letters`,
  limits: { [ROWS]: 1.1, [KEPT]: 1 },
  run: async (events) => {
    const looked = Math.ceil(events * 0.1)
    const small = new DatabaseSync(await fileWith(folder, few(looked)))
    const large = new DatabaseSync(await fileWith(folder, many(looked)))
    const counts = {
      [ROWS]: rowsRead(large) / rowsRead(small),
      [KEPT]: keptRows(large) / keptRows(small),
    }
    small.close()
    large.close()
    return counts
  },
})

const rowsRead = (database: DatabaseSync): number => {
  let rows = 0
  database.function('seen', { deterministic: false }, (_id) => {
    rows++
    return 1
  })
  const sql = (text: string) =>
    database.prepare(
      text.replaceAll(/FROM reprieve_letter WHERE/g, 'FROM reprieve_letter WHERE seen(id) = 1 AND'),
    )
  page({ sql } as unknown as File, FILTER, PAGE)
  return rows
}

const keptRows = (database: DatabaseSync): number =>
  ['group', 'tally'].reduce(
    (sum, table) =>
      sum + Number(database.prepare(`SELECT count(*) AS n FROM reprieve_letter_${table}`).get()!.n),
    0,
  )
