import { connect } from 'node:net'
import { span } from '../../core/time.ts'
import type { Found, NeededTopic } from './checks.ts'
import { MAY, UNKNOWN } from './doctor-rights.ts'
import { CODE, errorOf, hasCode, reasonOf } from './errors.ts'
import type { Wire } from './wire.ts'

/** The versions that are spoken here whatever else a broker can; all of them came with Kafka 3.1 at the latest. */
const SPOKEN: readonly (readonly [key: number, version: number, name: string])[] = [
  [0, 9, 'Produce'],
  [1, 13, 'Fetch'],
  [8, 8, 'OffsetCommit'],
  [22, 4, 'InitProducerId'],
  [28, 3, 'TxnOffsetCommit'],
]
const BROKER = 4
const CONNECT = 3000
const DAY = 24 * 60 * 60_000

/** By the names that they give for themselves, which need not be those in the URL. */
export const reachable = async ({ admin, tools }: Wire): Promise<readonly Found[]> => {
  const { brokers } = await admin.metadata({ topics: [], forceUpdate: true })
  const deaf: string[] = []
  for (const { host, port } of brokers.values()) {
    const heard = await new Promise<boolean>((resolve) => {
      const done = new AbortController()
      const socket = connect({ host, port })
      const end = (well: boolean) => {
        done.abort()
        socket.destroy()
        resolve(well)
      }
      socket.once('connect', () => end(true))
      socket.once('error', () => end(false))
      void tools.clock.sleep(CONNECT, done.signal).then(() => end(false))
    })
    if (!heard) deaf.push(`${host}:${port}`)
  }
  if (deaf.length === 0) {
    const what = `${brokers.size} of ${brokers.size} are reached by the names they give for themselves`
    return [{ check: 'kafka-brokers', level: 'fine', where: 'brokers', what }]
  }
  return deaf.map((where) => ({
    check: 'kafka-brokers' as const,
    level: 'wrong' as const,
    where,
    what: 'a broker gives this as its name, and from here nothing answers there',
    why: 'whatever it leads can neither be read nor written from this host',
    fix: 'start it, or mend its advertised.listeners to a name that is known here',
  }))
}

export const cluster = async (wire: Wire, transacting = false): Promise<readonly Found[]> => [
  ...(await versions(wire)),
  ...(await brokerSettings(wire, transacting)),
]

const versions = async ({ admin }: Wire): Promise<readonly Found[]> => {
  const apis = await admin.listApis()
  const missing = SPOKEN.filter(
    ([key, version]) =>
      !apis.some(
        ({ apiKey, minVersion, maxVersion }) =>
          apiKey === key && minVersion <= version && version <= maxVersion,
      ),
  )
  if (missing.length === 0) {
    return [
      { check: 'kafka-version', level: 'fine', where: 'brokers', what: 'they speak what is spoken here' },
    ]
  }
  const names = missing.map(([, version, name]) => `${name} ${version}`).join(', ')
  return [
    {
      check: 'kafka-version',
      level: 'wrong',
      where: 'brokers',
      what: `they don't speak ${names}`,
      why: 'nothing can be consumed, published or retried without it',
      fix: 'use Kafka 3.1 or newer',
    },
  ]
}

const brokerSettings = async (wire: Wire, transacting: boolean): Promise<readonly Found[]> => {
  const { admin } = wire
  const { brokers } = await admin.metadata({ topics: [] })
  const [first] = brokers.keys()
  const keys = ['offsets.retention.minutes', 'auto.create.topics.enable', ...SESSION, STATE_LOG]
  let settings: ReadonlyMap<string, string | null | undefined>
  try {
    const [answer] = await admin.describeConfigs({
      resources: [{ resourceType: BROKER, resourceName: String(first), configurationKeys: keys }],
    })
    settings = new Map(answer?.configs.map(({ name, value }) => [name, value]))
  } catch (error) {
    return [notSeen('the settings of brokers', error)]
  }
  const found: Found[] = []
  const minutes = settings.get(keys[0]!)
  if (minutes) {
    const ms = Number(minutes) * 60_000
    const short = ms < DAY
    found.push({
      check: 'kafka-offsets',
      level: short ? 'risky' : 'fine',
      where: keys[0]!,
      what: `offsets of a consumer group that is away are kept for ${span(ms)}`,
      ...(short && {
        why: 'a service that is down for longer begins again at the start of its topics: all of it is delivered again',
        fix: 'set offsets.retention.minutes to a week (10080), the default',
      }),
    })
  }
  if (settings.has(keys[1]!)) {
    const on = settings.get(keys[1]!) === 'true'
    const what = on
      ? 'on: a misspelt topic of another producer is made in silence; Reprieve makes its own and relies on nothing'
      : 'off: Reprieve makes its own topics'
    found.push({ check: 'kafka-auto-create', level: 'fine', where: keys[1]!, what })
  }
  found.push(...session(wire, settings))
  if (transacting && settings.get(STATE_LOG) === '1') found.push(ONE_STATE_LOG)
  return found
}

const SESSION = ['group.min.session.timeout.ms', 'group.max.session.timeout.ms'] as const
const STATE_LOG = 'transaction.state.log.replication.factor'

const ONE_STATE_LOG: Found = {
  check: 'kafka-transactions',
  level: 'risky',
  where: STATE_LOG,
  what: 'there is one copy of what brokers know of transactions',
  why: 'while its broker is away no retry and no burial goes through, and with it goes what was to be committed',
  fix: `set ${STATE_LOG} to 3 before the first transaction, or give __transaction_state more replicas`,
}

function* session(
  { settings: ours }: Wire,
  settings: ReadonlyMap<string, string | null | undefined>,
): Generator<Found> {
  const [least, most] = SESSION.map((key) => Number(settings.get(key) ?? Number.NaN)) as [number, number]
  if (Number.isNaN(least) || Number.isNaN(most)) return
  const fits = least <= ours.session && ours.session <= most
  yield {
    check: 'kafka-session',
    level: fits ? 'fine' : 'wrong',
    where: '?session=',
    what: `${ours.session} ms, and brokers take ${least} to ${most}`,
    ...(!fits && {
      why: 'they refuse every member of a consumer group: nothing is consumed',
      fix: `write ?session= with a value in between, or change ${SESSION.join(' and ')}`,
    }),
  }
}

/** What may not be looked at is told once, and is no fault by itself. */
export const notSeen = (what: string, error: unknown): Found => ({
  check: 'kafka-permissions',
  level: 'risky',
  where: what,
  what: `can't be seen: ${reasonOf(error)}`,
  why: 'whether retries or letters would be lost there is unknown',
  fix: 'allow this user DescribeConfigs on the cluster and its topics, if only for this look',
})

export const coordinators = async (
  { admin, client }: Wire,
  groups: readonly string[],
): Promise<readonly Found[]> => {
  const found: Found[] = []
  for (const group of groups) {
    const where = `consumer group ${group}`
    try {
      const keyType = client.FindCoordinatorKeyTypes.GROUP
      const [coordinator] = await admin.findCoordinator({ keyType, keys: [group] })
      // whoever may only describe it gets that far, and no further
      const connection = await admin.connections.get(coordinator!)
      const { groups: told } = await client.describeGroupsV5.api.async(connection, [group], true)
      const { authorizedOperations: bits } = told[0]!
      if (bits !== UNKNOWN && (bits & MAY.Read) === 0) throw errorOf(client, CODE.groupNotAllowed)
    } catch (error) {
      const refused = hasCode(error, CODE.groupNotAllowed)
      found.push({
        check: refused ? 'kafka-permissions' : 'kafka-coordinator',
        level: 'wrong',
        where,
        what: refused ? 'this user may not use it' : `nobody keeps its offsets: ${reasonOf(error)}`,
        why: 'without it nothing is consumed',
        fix: refused
          ? 'allow this user Read and Describe on the group'
          : 'look whether __consumer_offsets has all its leaders',
      })
    }
  }
  if (found.length > 0 || groups.length === 0) return found
  const what = `${groups.length} have one`
  return [{ check: 'kafka-coordinator', level: 'fine', where: 'consumer groups', what }]
}

/** The broker is asked whether it would make them, and makes nothing. */
export const creatable = async (wire: Wire, missing: readonly NeededTopic[]): Promise<readonly Found[]> => {
  if (missing.length === 0) return []
  const where = 'topics'
  const refusal = await wouldMake(wire, missing)
  if (refusal) {
    const all = missing.map(({ name, partitions }) => `${name} (${partitions})`).join(', ')
    return [
      {
        ...refusal,
        where,
        what: `${missing.length} are not there, and could not be made: ${refusal.what}`,
        why: `a service that needs them refuses to start; with their partitions: ${all}`,
        fix: refusal.fix ?? 'allow this user to create topics, or create them beforehand',
      },
    ]
  }
  const what = `${missing.length} are not there yet and will be made`
  return [{ check: 'kafka-missing', level: 'fine', where, what }]
}

/** The same for an office, of which nobody knows here how its store calls it. */
export const receivable = async (wire: Wire, receipts: readonly NeededTopic[]): Promise<readonly Found[]> => {
  const [topic] = receipts
  const refusal = topic && (await wouldMake(wire, receipts))
  if (!refusal) return []
  return [
    {
      ...refusal,
      where: topic.name.replace(/[^.]*$/, '*'),
      what: `there is none, and it could not be made: ${refusal.what}`,
      why: 'an office hears there how replays ended: it refuses to start',
      fix:
        refusal.fix ??
        'allow this user to create topics that begin so, or create the one that the start names',
    },
  ]
}

type Refusal = Pick<Found, 'check' | 'level' | 'what'> & { readonly fix: string | undefined }

const wouldMake = async (wire: Wire, missing: readonly NeededTopic[]): Promise<Refusal | undefined> => {
  const { admin, client, settings } = wire
  try {
    const { brokers, controllerId } = await admin.metadata({ topics: [] })
    const broker = brokers.get(controllerId) ?? [...brokers.values()][0]!
    const requests = missing.map(({ name, partitions }) => ({
      name,
      numPartitions: partitions,
      replicationFactor: settings.replication,
      assignments: [],
      configs: [],
    }))
    const connection = await admin.connections.get(broker)
    await client.createTopicsV7.api.async(connection, requests, 5000, true)
    return undefined
  } catch (error) {
    const refused = hasCode(error, CODE.topicNotAllowed, CODE.clusterNotAllowed)
    const replicas = hasCode(error, CODE.invalidReplication)
    const mend = replicas
      ? 'set ?replication= to what the brokers allow'
      : 'mend what the broker says, or create them beforehand'
    return {
      check: refused ? 'kafka-permissions' : 'kafka-missing',
      level: 'wrong',
      what: reasonOf(error),
      fix: refused ? undefined : mend,
    }
  }
}
