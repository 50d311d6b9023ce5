import { connect } from 'amqplib'
import { exchangeOfDead, queueOf } from '../../src/adapters/rabbitmq/names.ts'
import type { Reprieve } from '../../src/reprieve.ts'
import type { OpenBench } from '../bench.ts'
import { besideBroker } from '../beside-broker.ts'
import { freshFile } from '../embedded/file.ts'
import { LEAD, REST, WINDOW } from '../load.ts'
import { countsOf, type Ground, type Names, oursConsuming } from '../ours.ts'
import { poisonRace } from '../poison.ts'
import { retryProbe } from '../retries.ts'
import { openBroker, openIfThere } from '../server.ts'
import { versionOf } from '../versions.ts'
import { rawFailingOnce } from './failing.ts'
import { rascalConsuming, rascalPublishing } from './peer.ts'
import { rawConsuming, rawPublishing } from './raw.ts'

const TRIPS = 2

export const open: OpenBench = async () => {
  const broker = await openBroker('rabbitmq')
  const redis = await openIfThere('redis')
  const ground = async (): Promise<Ground> => {
    const store = freshFile()
    return {
      transport: broker.url,
      store: store.url,
      close: async (names) => {
        store.clear()
        await clear(broker.url, names)
      },
    }
  }
  const ours = besideBroker(ground, redis)
  const raw = { name: 'raw', url: broker.url, cloudEvents: true }
  const dataOnly = { name: 'raw, no CloudEvents', url: broker.url, cloudEvents: false }
  return {
    events: 100_000,
    window: WINDOW,
    anew: !broker.named,
    env: { ...(broker.named && broker.env), ...redis?.env },
    versions: {
      amqplib: await versionOf('amqplib'),
      rabbitmq: broker.version,
      rascal: await versionOf('rascal'),
      ...(redis && { redis: redis.version }),
    },
    races: [
      {
        name: 'publish',
        share: 0.25,
        contenders: [rawPublishing(raw), ...ours.publishing, rawPublishing(dataOnly), rascalPublishing(raw)],
      },
      {
        name: 'consume and ack',
        lead: LEAD,
        rest: REST,
        contenders: [rawConsuming(raw), ...ours.consuming, rascalConsuming(raw)],
      },
      {
        name: 'consume and ack, nothing said',
        lead: LEAD,
        rest: REST,
        share: 0.15,
        contenders: [rawConsuming(raw), oursConsuming({ name: 'reprieve, no rule book', ground })],
      },
      {
        name: 'fail once, then succeed',
        rest: REST,
        share: 0.2,
        contenders: [rawFailingOnce(raw), ...ours.failingOnce, rascalConsuming(raw, true)],
      },
      poisonRace(ground),
    ],
    probes: [retryProbe({ name: 'a retry', limit: TRIPS, ground, trips: confirmsAndAcks })],
    close: async () => {
      await broker.close()
      await redis?.close()
    },
  }
}

/** A confirmed publish is a round trip; an acknowledgement is half of one, and is counted as a whole. */
const confirmsAndAcks = ({ transport }: Reprieve): number => {
  const { waits = 0, acks = 0, returned = 0 } = countsOf(transport)
  return waits + acks + returned
}

/** Everything a heat made on the broker that is its own. */
const clear = async (url: string, { service, type, destinations }: Names): Promise<void> => {
  const connection = await connect(url)
  const channel = await connection.createChannel()
  const queue = queueOf({ service, topic: type })
  for (const each of [queue, ...destinations]) await channel.deleteQueue(each)
  await channel.deleteExchange(exchangeOfDead(queue))
  await connection.close()
}
