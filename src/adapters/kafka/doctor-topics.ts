import { span } from '../../core/time.ts'
import type { Found, NeededTopic } from './checks.ts'
import type { ClusterMetadata } from './client.ts'
import { notSeen } from './doctor-cluster.ts'
import type { Wire } from './wire.ts'

type Configs = ReadonlyMap<string, string | null | undefined>
type Partition = NonNullable<ReturnType<ClusterMetadata['topics']['get']>>['partitions'][number]

const TOPIC = 2
const KEYS = [
  'retention.ms',
  'retention.bytes',
  'cleanup.policy',
  'min.insync.replicas',
  'max.message.bytes',
  'flush.messages',
]
/** -3: the record with the latest time of its own. */
const LATEST_TIME = -3n
const SKEW = 60_000

/** Of topics that are there. What is well is said in one line for each check. */
export const examineTopics = async (
  wire: Wire,
  topics: readonly NeededTopic[],
): Promise<readonly Found[]> => {
  if (topics.length === 0) return []
  const names = topics.map(({ name }) => name)
  const { topics: led } = await wire.admin.metadata({ topics: names, forceUpdate: true })
  const found: Found[] = []
  let configs: ReadonlyMap<string, Configs> = new Map()
  try {
    configs = await configsOf(wire, names)
  } catch (error) {
    found.push(notSeen('the settings of topics', error))
  }
  for (const topic of topics) {
    const has = configs.get(topic.name)
    const partitions = led.get(topic.name)?.partitions ?? []
    found.push(...leaders(topic, partitions, has), ...replication(topic, partitions, has))
    if (has) found.push(...retention(topic, has), ...compaction(topic, has), ...size(topic, has, configs))
  }
  found.push(...(await clock(wire, topics, led)))
  if (configs.size > 0) found.push(flush(configs))
  const well = (
    ['kafka-leader', 'kafka-replication', 'kafka-retention', 'kafka-compaction', 'kafka-size'] as const
  )
    .filter((check) => configs.size > 0 && !found.some((each) => each.check === check))
    .map(
      (check): Found => ({
        check,
        level: 'fine',
        where: 'topics',
        what: `${topics.length} are as they should be`,
      }),
    )
  return [...found, ...well]
}

const configsOf = async (
  { admin }: Wire,
  names: readonly string[],
): Promise<ReadonlyMap<string, Configs>> => {
  const resources = names.map((name) => ({
    resourceType: TOPIC,
    resourceName: name,
    configurationKeys: [...KEYS],
  })) as Parameters<typeof admin.describeConfigs>[0]['resources']
  const answers = await admin.describeConfigs({ resources })
  return new Map(
    answers.map(({ resourceName, configs }) => [
      resourceName,
      new Map(configs.map(({ name, value }) => [name, value])),
    ]),
  )
}

function* leaders({ name }: NeededTopic, partitions: readonly Partition[], has?: Configs): Generator<Found> {
  const dead = partitions.flatMap(({ leader }, index) => (leader < 0 ? [index] : []))
  if (dead.length > 0) {
    yield {
      check: 'kafka-leader',
      level: 'wrong',
      where: name,
      what: `no broker leads partition ${dead.join(', ')}`,
      why: 'what lies there can neither be read nor added to',
      fix: 'start the brokers that hold it',
    }
  }
  const least = Number(has?.get('min.insync.replicas') ?? 1)
  const behind = partitions.flatMap(({ isr, leader }, index) =>
    leader >= 0 && isr.length < least ? [index] : [],
  )
  if (behind.length > 0) {
    yield {
      check: 'kafka-leader',
      level: 'wrong',
      where: name,
      what: `fewer replicas are in step than min.insync.replicas (${least}) asks for, at partition ${behind.join(', ')}`,
      why: 'the broker refuses every write there: nothing is published, retried or buried',
      fix: 'start the missing brokers, or lower min.insync.replicas to the replicas there are',
    }
  }
}

function* replication(
  { name }: NeededTopic,
  partitions: readonly Partition[],
  has?: Configs,
): Generator<Found> {
  const copies = Math.min(...partitions.map(({ replicas }) => replicas.length))
  const least = has?.get('min.insync.replicas')
  if (copies === 1) {
    yield {
      check: 'kafka-replication',
      level: 'risky',
      where: name,
      what: 'there is one copy of it',
      why: 'when that broker is gone, so is what it confirmed',
      fix: 'give it 3 replicas and min.insync.replicas 2 (?replication=3 in the URL for topics that are made)',
    }
  } else if (least === '1') {
    yield {
      check: 'kafka-replication',
      level: 'risky',
      where: name,
      what: `min.insync.replicas is 1, of ${copies} replicas`,
      why: 'a write is confirmed that only one broker has, and lost with it',
      fix: `set min.insync.replicas to ${Math.max(2, copies - 1)}`,
    }
  }
}

function* retention({ name, as, keep, because }: NeededTopic, has: Configs): Generator<Found> {
  const ms = Number(has.get('retention.ms') ?? -1)
  const deleted = (has.get('cleanup.policy') ?? 'delete').includes('delete')
  if (deleted && ms >= 0 && ms < keep) {
    const lost = { source: 'events', retry: 'retries that still wait', destination: 'dead letters' }[as]
    yield {
      check: 'kafka-retention',
      level: as === 'retry' ? 'wrong' : 'risky',
      where: name,
      what: `retention.ms is ${span(ms)}, and ${because} ${span(keep)}`,
      why: `the broker drops ${lost} without a word`,
      fix: `set retention.ms to ${keep} or more${as === 'destination' ? ', or to -1: the office keeps its own time' : ''}`,
    }
  }
  const bytes = Number(has.get('retention.bytes') ?? -1)
  if (as !== 'source' && bytes >= 0) {
    yield {
      check: 'kafka-retention',
      level: 'risky',
      where: name,
      what: `retention.bytes is ${bytes}`,
      why: 'in a bad hour, when most is written there, the oldest is dropped without a word',
      fix: 'set retention.bytes to -1',
    }
  }
}

function* compaction({ name, as }: NeededTopic, has: Configs): Generator<Found> {
  if (as === 'source' || !(has.get('cleanup.policy') ?? '').includes('compact')) return
  yield {
    check: 'kafka-compaction',
    level: 'wrong',
    where: name,
    what: `cleanup.policy is ${has.get('cleanup.policy')}`,
    why: 'of events with one key only the last is kept: the others are lost',
    fix: 'set cleanup.policy to delete',
  }
}

/** A copy carries its trail too, and is larger than what it is a copy of. */
function* size(
  { name, from }: NeededTopic,
  has: Configs,
  all: ReadonlyMap<string, Configs>,
): Generator<Found> {
  const most = Number(has.get('max.message.bytes'))
  const source = Number(all.get(from ?? '')?.get('max.message.bytes'))
  if (!(most < source)) return
  yield {
    check: 'kafka-size',
    level: 'risky',
    where: name,
    what: `max.message.bytes is ${most}, and ${from} takes events of ${source}`,
    why: 'a large event that fails has to wait, or be buried, in the store beside the brokers',
    fix: `set max.message.bytes to more than ${source}`,
  }
}

const flush = (configs: ReadonlyMap<string, Configs>): Found => {
  const every = [...configs].filter(([, has]) => Number(has.get('flush.messages') ?? 2 ** 53) > 1)
  const what =
    every.length === 0
      ? 'each record is on disk before it is confirmed'
      : `on ${every.length} topics a confirmed record is in the memory of all replicas in step, and on disk a little later: replicas on other machines make it safe`
  return { check: 'kafka-flush', level: 'fine', where: 'flush.messages', what }
}

/** Records from the future: the clock of whoever wrote them goes before ours, or ours is behind. */
const clock = async (
  { admin, tools }: Wire,
  topics: readonly NeededTopic[],
  led: ClusterMetadata['topics'],
): Promise<readonly Found[]> => {
  const asked = topics
    .filter(({ name }) => led.get(name)?.partitions.every(({ leader }) => leader >= 0))
    .map(({ name }) => ({
      name,
      partitions: Array.from({ length: led.get(name)!.partitionsCount }, (_, partitionIndex) => ({
        partitionIndex,
        timestamp: LATEST_TIME,
      })),
    }))
  if (asked.length === 0) return []
  try {
    const answers = await admin.listOffsets({ topics: asked })
    const now = tools.clock.now()
    const ahead = answers.flatMap(({ name, partitions }) => {
      const latest = Math.max(...partitions.map(({ timestamp }) => Number(timestamp)))
      return latest > now + SKEW ? [{ name, by: latest - now }] : []
    })
    if (ahead.length === 0) {
      return [{ check: 'kafka-clock', level: 'fine', where: 'records', what: 'none is from the future' }]
    }
    return ahead.map(({ name, by }) => ({
      check: 'kafka-clock' as const,
      level: 'risky' as const,
      where: name,
      what: `its latest record is from ${span(by)} ahead of the clock here`,
      why: 'retries are due by the clock of whoever looks: they come early or late, and retention counts from there',
      fix: 'let NTP set the clocks of this host, of its brokers and producers',
    }))
  } catch (error) {
    return [notSeen('the times of records', error)]
  }
}
