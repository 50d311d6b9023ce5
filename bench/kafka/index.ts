import { Admin } from '@platformatic/kafka'
import { retryTopics } from '../../src/adapters/kafka/tiers.ts'
import type { Reprieve } from '../../src/reprieve.ts'
import type { OpenBench } from '../bench.ts'
import { failsOnce } from '../courses.ts'
import { freshFile } from '../embedded/file.ts'
import { LEAD, REST, WINDOW } from '../load.ts'
import { countsOf, type Ground, type Names, oursConsuming, oursPublishing } from '../ours.ts'
import { poisonRace } from '../poison.ts'
import { retryProbe } from '../retries.ts'
import { openBroker, openIfThere } from '../server.ts'
import { versionOf } from '../versions.ts'
import { rawFailingOnce, WAIT } from './failing.ts'
import { kafkajsConsuming, kafkajsPublishing } from './peer.ts'
import { rawConsuming, rawPublishing } from './raw.ts'

const AIM = 0.85
const TRIPS = 2

/** `upsert` claims on the app's SQLite what is tried again, `dedup` everything, `none` nothing. */
const rules = { concurrency: WINDOW, window: WINDOW, idempotency: { pattern: 'upsert' } }
const withoutLedger = { ...rules, idempotency: { pattern: 'none' } }
const withLedger = { ...rules, idempotency: { pattern: 'dedup' } }
/** Forgotten soon: the server may be somebody's. */
const onRedis = { ...rules, idempotency: { pattern: 'dedup', store: 'redis', ttl: '10m' } }
/** Each fails once, and waits as long as the raw loop lets it. */
const policy = { backoff: 'fixed', delay: `${WAIT}ms`, jitter: 'none', retries: 1 }
const failing = { course: failsOnce }

export const open: OpenBench = async () => {
  const broker = await openBroker('kafka')
  const redis = await openIfThere('redis')
  const ledgers = redis && { redis: redis.url }
  const ground = async (asked = ''): Promise<Ground> => {
    const store = freshFile()
    return {
      transport: `kafka://${broker.url}${asked}`,
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
    env: { ...broker.env, ...redis?.env },
    versions: {
      '@platformatic/kafka': await versionOf('@platformatic/kafka'),
      kafka: broker.version,
      kafkajs: await versionOf('kafkajs'),
      ...(redis && { redis: redis.version }),
    },
    races: [
      {
        name: 'publish',
        share: 0.3,
        contenders: [
          rawPublishing(raw),
          oursPublishing({ name: 'reprieve', aim: AIM, rules, ground }),
          oursPublishing({ name: 'reprieve, a call for each', rules, ground }, true),
          rawPublishing(dataOnly),
          kafkajsPublishing(raw),
        ],
      },
      {
        name: 'consume and commit',
        lead: LEAD,
        rest: REST,
        contenders: [
          rawConsuming(raw),
          oursConsuming({ name: 'reprieve', aim: AIM, rules, ground }),
          oursConsuming({ name: 'reprieve, ledger on SQLite', rules: withLedger, ground }),
          ...(ledgers
            ? [oursConsuming({ name: 'reprieve, ledger on Redis', rules: onRedis, stores: ledgers, ground })]
            : []),
          kafkajsConsuming(raw),
        ],
      },
      {
        name: 'fail once, then succeed',
        rest: REST,
        share: 0.3,
        contenders: [
          rawFailingOnce(raw),
          oursConsuming({
            name: 'reprieve',
            aim: AIM,
            rules: { ...withoutLedger, policy },
            ...failing,
            ground,
          }),
          oursConsuming({
            name: 'reprieve, retries claimed on SQLite',
            rules: { ...rules, policy },
            ...failing,
            ground,
          }),
          oursConsuming({
            name: 'reprieve, ledger on SQLite',
            rules: { ...withLedger, policy },
            ...failing,
            ground,
          }),
          ...(ledgers
            ? [
                oursConsuming({
                  name: 'reprieve, ledger on Redis',
                  rules: { ...onRedis, policy },
                  stores: ledgers,
                  ...failing,
                  ground,
                }),
              ]
            : []),
          kafkajsConsuming(raw, true),
        ],
      },
      poisonRace(() => ground('?partitions=1')),
    ],
    probes: [retryProbe({ name: 'a retry', limit: TRIPS, ground, trips: producesAndCommits })],
    close: async () => {
      await broker.close()
      await redis?.close()
    },
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
