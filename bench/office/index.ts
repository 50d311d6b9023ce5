import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { OpenBench } from '../bench.ts'
import { keeping, rawInserting, takingOver } from './ingest.ts'
import { memoryProbe } from './memory.ts'
import { pageRaces, rowsProbe } from './pages.ts'
import { byHand, rawForwarding, replaying } from './replay.ts'

const FOLDER = 'REPRIEVE_BENCH_LETTERS'

export const open: OpenBench = async () => {
  const given = process.env[FOLDER]
  const folder = given ?? mkdtempSync(join(tmpdir(), 'reprieve-bench-letters-'))
  return {
    // a tenth of it in each heat, and a hundred times that among the letters one looks at: a million
    events: 100_000,
    env: { [FOLDER]: folder },
    versions: { sqlite: process.versions.sqlite ?? '?' },
    races: [
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
        share: 0.1,
        contenders: [rawForwarding(folder), byHand(folder), replaying(folder, 0.5)],
      },
    ],
    probes: [rowsProbe(folder), memoryProbe],
    close: async () => {
      if (given === undefined) rmSync(folder, { recursive: true, force: true })
    },
  }
}
