import { Admin } from '@platformatic/kafka'
import { retryTopics } from '../../src/adapters/kafka/tiers.ts'
import type { Reprieve } from '../../src/reprieve.ts'
import type { OpenBench } from '../bench.ts'
import { freshFile } from '../embedded/file.ts'
import { WINDOW } from '../load.ts'
import { countsOf, type Ground, type Names, oursConsuming, oursPublishing } from '../ours.ts'
import { retryProbe } from '../retries.ts'
import { openBroker } from '../server.ts'
import { versionOf } from '../versions.ts'
import { rawConsuming, rawPublishing } from './raw.ts'

const AIM = 0.85
const TRIPS = 2

/** `upsert` writes nothing to the ledger on a first delivery, `dedup` does. */
const rules = { concurrency: WINDOW, window: WINDOW, idempotency: { pattern: 'upsert' } }
const withLedger = { ...rules, idempotency: { pattern: 'dedup' } }

export const open: OpenBench = async () => {
  const broker = await openBroker('kafka')
  const ground = async (): Promise<Ground> => {
    const store = freshFile()
    return {
      transport: `kafka://${broker.url}`,
      store: store.url,
      counts: ({ transport }) => ({ commits: countsOf(transport).commits ?? 0 }),
      close: async (names) => {
        store.clear()
        await clear(broker.url, names)
      },
    }
  }
  const raw = { name: 'raw', broker: broker.url, cloudEvents: true }
  const dataOnly = { name: 'raw, no CloudEvents', broker: broker.url, cloudEvents: false }
  return {
    events: 100_000,
    window: WINDOW,
    env: broker.env,
    versions: { '@platformatic/kafka': await versionOf('@platformatic/kafka'), kafka: broker.version },
    races: [
      {
        name: 'publish',
        share: 0.4,
        contenders: [
          rawPublishing(raw),
          oursPublishing({ name: 'reprieve', aim: AIM, rules, ground }),
          oursPublishing({ name: 'reprieve, a call for each', rules, ground }, true),
          rawPublishing(dataOnly),
        ],
      },
      {
        name: 'consume and commit',
        contenders: [
          rawConsuming(raw),
          oursConsuming({ name: 'reprieve', aim: AIM, rules, ground }),
          oursConsuming({ name: 'reprieve, ledger on SQLite', rules: withLedger, ground }),
          oursConsuming({ name: 'reprieve, no rule book', ground }),
          rawConsuming(dataOnly),
        ],
      },
    ],
    probes: [retryProbe({ name: 'a retry', limit: TRIPS, ground, trips: producesAndCommits })],
    close: broker.close,
  }
}

const producesAndCommits = ({ transport }: Reprieve): number => {
  const { produces = 0, commits = 0 } = countsOf(transport)
  return produces + commits
}

/** Everything a heat made on the broker that is its own. */
const clear = async (broker: string, { service, type, destinations }: Names): Promise<void> => {
  const admin = new Admin({ clientId: 'bench', bootstrapBrokers: [broker] })
  await admin.deleteTopics({ topics: [type, ...retryTopics(service), ...destinations] })
  await admin.close()
}
