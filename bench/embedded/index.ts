import { randomUUID } from 'node:crypto'
import { countsOf, open as openSqlite } from '../../src/adapters/sqlite/index.ts'
import { systemClock } from '../../src/adapters/system/clock.ts'
import { systemDice } from '../../src/adapters/system/dice.ts'
import type { OpenBench } from '../bench.ts'
import { allDie, failsOnce, writesRow } from '../courses.ts'
import { BATCH } from '../load.ts'
import { type Ground, oursConsuming, oursPublishing } from '../ours.ts'
import { openBroker } from '../server.ts'
import { versionOf } from '../versions.ts'
import { heapProbe, withBacklog } from './backlog.ts'
import { rawDying, rawFailingOnce } from './failing.ts'
import { freshFile } from './file.ts'
import { bossFailingOnce } from './peer.ts'
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

const withPattern = (pattern: string) => ({ ...rules, idempotency: { pattern } })
const onceMore = { ...rules, policy: { backoff: 'fixed', delay: '1ms', jitter: 'none', retries: 1 } }

export const open: OpenBench = async () => {
  const postgres = await openBroker('postgres')
  return {
    events: 50_000,
    window: 2 * BATCH,
    env: postgres.env,
    versions: {
      sqlite: process.versions.sqlite ?? '?',
      postgres: postgres.version,
      'pg-boss': await versionOf('pg-boss'),
    },
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
          oursConsuming({ name: 'reprieve, ids at random', rules, ground, id: randomUUID }),
          oursConsuming({ name: 'reprieve, upsert', rules: withPattern('upsert'), ground }),
          oursConsuming({ name: 'reprieve, state', rules: withPattern('state'), ground }),
          oursConsuming({
            name: 'reprieve, transaction and a row',
            rules: withPattern('transaction'),
            ground,
            course: writesRow,
          }),
          oursConsuming({ name: 'reprieve, no rule book', ground }),
        ],
      },
      {
        name: 'fail once, then succeed',
        share: 0.4,
        contenders: [
          rawFailingOnce,
          oursConsuming({
            name: 'reprieve',
            rules: onceMore,
            ground,
            course: failsOnce,
            against: { 'pg-boss': 3 },
          }),
          bossFailingOnce(postgres.url),
        ],
      },
      {
        name: 'every one dies',
        share: 0.4,
        contenders: [rawDying, oursConsuming({ name: 'reprieve', rules, ground, course: allDie })],
      },
      {
        name: 'consume with more waiting',
        share: 0.2,
        contenders: [
          withBacklog('as many as are handled', 1, rules),
          withBacklog('a hundred times as many', 100, rules, 0.67),
        ],
      },
    ],
    probes: [heapProbe(0.2, 20, 1.2, rules)],
    close: postgres.close,
  }
}
