import { Admin } from '@platformatic/kafka'
import { retryTopics } from '../../src/adapters/kafka/tiers.ts'
import type { Reprieve } from '../../src/reprieve.ts'
import type { OpenBench } from '../bench.ts'
import { besideBroker } from '../beside-broker.ts'
import { freshFile } from '../embedded/file.ts'
import { LEAD, REST, WINDOW } from '../load.ts'
import { countsOf, type Ground, type Names } from '../ours.ts'
import { poisonRace } from '../poison.ts'
import { retryProbe } from '../retries.ts'
import { openBroker, openIfThere } from '../server.ts'
import { versionOf } from '../versions.ts'
import { rawFailingOnce } from './failing.ts'
import { kafkajsConsuming, kafkajsPublishing } from './peer.ts'
import { rawConsuming, rawPublishing } from './raw.ts'

const TRIPS = 2

export const open: OpenBench = async () => {
  const broker = await openBroker('kafka')
  const redis = await openIfThere('redis')
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
  const ours = besideBroker(ground, redis)
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
        contenders: [rawPublishing(raw), ...ours.publishing, rawPublishing(dataOnly), kafkajsPublishing(raw)],
      },
      {
        name: 'consume and commit',
        lead: LEAD,
        rest: REST,
        contenders: [rawConsuming(raw), ...ours.consuming, kafkajsConsuming(raw)],
      },
      {
        name: 'fail once, then succeed',
        rest: REST,
        share: 0.3,
        contenders: [rawFailingOnce(raw), ...ours.failingOnce, kafkajsConsuming(raw, true)],
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
