import { countsOf, open as openSqlite } from '../../src/adapters/sqlite/index.ts'
import { systemClock } from '../../src/adapters/system/clock.ts'
import { systemDice } from '../../src/adapters/system/dice.ts'
import type { OpenBench } from '../bench.ts'
import { BATCH } from '../load.ts'
import { type Ground, oursConsuming, oursPublishing } from '../ours.ts'
import { freshFile } from './file.ts'
import { rawConsuming, rawPublishing, TYPE } from './raw.ts'

const AIM = 0.7

/** Whoever opens a file again in the same process shares its one writer, and so sees all its commits. */
const ground = async (): Promise<Ground> => {
  const { url, clear } = freshFile()
  const opened = await openSqlite(url, { clock: systemClock, dice: systemDice(), journal: () => {} })
  return {
    transport: url,
    names: { service: 'billing', type: TYPE },
    counts: () => ({ commits: countsOf(opened).commits }),
    close: async () => {
      await opened.transport.close()
      await opened.store?.close()
      clear()
    },
  }
}

const rules = { concurrency: BATCH, window: 2 * BATCH, idempotency: { pattern: 'dedup' } }
const limits = { [`commits per ${BATCH} events`]: 1 }

export const open: OpenBench = async () => ({
  events: 50_000,
  window: 2 * BATCH,
  env: {},
  versions: { sqlite: process.versions.sqlite ?? '?' },
  races: [
    {
      name: 'publish',
      contenders: [
        rawPublishing,
        oursPublishing({ name: 'reprieve', aim: AIM, limits, rules, ground }),
        oursPublishing({ name: 'reprieve, a call for each', rules, ground }, true),
      ],
    },
    {
      name: 'consume and ack',
      contenders: [
        rawConsuming,
        oursConsuming({ name: 'reprieve', aim: AIM, limits, rules, ground }),
        oursConsuming({ name: 'reprieve, no rule book', ground }),
      ],
    },
  ],
  probes: [],
  close: async () => {},
})
