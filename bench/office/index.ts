import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { OpenBench } from '../bench.ts'
import type { Probe, Race } from '../harness.ts'
import { type Broker, openIfThere } from '../server.ts'
import { keeping, rawInserting, takingOver } from './ingest.ts'
import { keepingAt, rawInsertingAt } from './ingest-postgres.ts'
import { memoryProbe, replayMemoryProbe } from './memory.ts'
import { pageRaces, pageRacesAt, rowsProbe } from './pages.ts'
import { dropAll, type Server, serverAt } from './postgres.ts'
import { byHand, openBeside, openCopy, rawForwarding, rawUnread, replaying } from './replay.ts'
import { rowsProbeAt } from './rows-postgres.ts'

const FOLDER = 'REPRIEVE_BENCH_LETTERS'

export const open: OpenBench = async () => {
  const given = process.env[FOLDER]
  const folder = given ?? mkdtempSync(join(tmpdir(), 'reprieve-bench-letters-'))
  const postgres = await openIfThere('postgres')
  const server = postgres && serverAt(postgres.url, folder)
  return {
    // a tenth of it in each heat, and a hundred times that among the letters one looks at: a million
    events: 100_000,
    env: { [FOLDER]: folder, ...postgres?.env },
    versions: { sqlite: process.versions.sqlite ?? '?', ...(postgres && { postgres: postgres.version }) },
    races: [...racesOn(folder), ...(server ? racesAt(server) : [])],
    probes: [
      rowsProbe(folder),
      memoryProbe,
      replayMemoryProbe,
      ...(server ? [rowsProbeAt(server)] : ([] as Probe[])),
    ],
    close: () => close(given === undefined ? folder : undefined, server, postgres),
  }
}

const racesOn = (folder: string): readonly Race[] => {
  const opened = (letters: number) => openCopy(folder, letters)
  return [
    {
      name: 'ingest',
      share: 0.1,
      contenders: [
        rawInserting,
        keeping('reprieve, kept with groups and tallies', 0.3),
        takingOver('reprieve, from the destination to the ack', 0.3),
      ],
    },
    ...pageRaces(folder),
    {
      name: 'replay',
      share: 0.2,
      contenders: [rawForwarding(opened), rawUnread(opened), byHand(opened), replaying(opened, 0.5)],
    },
  ]
}

const racesAt = (server: Server): readonly Race[] => {
  const opened = (letters: number) => openBeside(server, letters)
  return [
    {
      name: 'ingest, PostgreSQL',
      share: 0.1,
      contenders: [rawInsertingAt(server), keepingAt(server, 'reprieve, kept with groups and tallies', 0.3)],
    },
    ...pageRacesAt(server),
    {
      name: 'replay, PostgreSQL',
      share: 0.2,
      contenders: [rawForwarding(opened), rawUnread(opened), byHand(opened), replaying(opened, 0.5)],
    },
  ]
}

/** What was made for this run alone is gone with it. */
const close = async (
  folder: string | undefined,
  server: Server | undefined,
  postgres: Broker | undefined,
) => {
  if (folder !== undefined) {
    if (server) await dropAll(server)
    rmSync(folder, { recursive: true, force: true })
  }
  await postgres?.close()
}
