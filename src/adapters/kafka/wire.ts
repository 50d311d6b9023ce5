import type { Tools } from '../../contracts/tools.ts'
import type { Admin, Client, Consumer, GroupPartitionsAssigner, Producer } from './client.ts'
import { goRound, lapsesOf, seekCoordinator } from './detours.ts'
import type { Settings } from './settings.ts'
import { readTls } from './tls.ts'
import { unreachable } from './unreachable.ts'
import { within } from './within.ts'

/** The connections of one transport, and what went over them. */
export interface Wire {
  readonly client: Client
  readonly settings: Settings
  readonly tools: Tools
  /** Topics. Creating one takes long, and a connection serves one request after the other. */
  readonly admin: Admin
  /** Offsets of consumer groups: never behind a pending join, a long poll or a topic being made. */
  readonly clerk: Admin
  /** Records, numbered by us. */
  readonly producer: Admin
  readonly counts: Counts
  /** A connection for fetches only: each waits for its answer, and keeps others waiting. */
  fetcher(): Admin
  /** A producer for transactions under this name. */
  transactor(id: string): Producer
  member(options: MemberOptions): Consumer
  close(): Promise<void>
}

export interface Counts {
  produces: number
  commits: number
  fetches: number
}

export interface MemberOptions {
  readonly groupId: string
  /** Awaited before every join: the last moment at which what is finished can be committed. */
  readonly beforeJoin: () => Promise<void>
  readonly assign: GroupPartitionsAssigner
}

const NOTHING = Buffer.alloc(0)
export const PRODUCE = 10_000
const CONSUME = 30_000
const TRANSACTION = 15_000
const REBALANCE = 20_000
/** What any broker can answer from memory; then another one is asked. */
const ASK = 4_000
const OF_ANY_BROKER = ['Metadata', 'FindCoordinator']
/** Brokers answer these when all members have come, others at once. */
const OF_ALL_MEMBERS = ['JoinGroup', 'SyncGroup']
/** For the first answer of a broker, the client's own retries included. */
const OPEN = 15_000

export const openWire = async (client: Client, settings: Settings, tools: Tools): Promise<Wire> => {
  const tls = settings.tls && (await readTls(settings.tls))
  const common = {
    clientId: 'reprieve',
    bootstrapBrokers: [...settings.brokers],
    connectTimeout: 5_000,
    timeout: PRODUCE,
    requestTimeout: PRODUCE,
    ...(tls && { tls }),
    ...(settings.sasl && { sasl: settings.sasl }),
  }
  const detours = {
    client,
    clock: tools.clock,
    lapses: lapsesOf(),
    limit: (request: string) => (OF_ANY_BROKER.includes(request) ? ASK : undefined),
  }
  const admin = goRound(new client.Admin({ ...common, retries: 2, retryDelay: 200 }), detours)
  try {
    // With few retries: a wrong password must not loop for ever, which it would in a consumer.
    await within(OPEN, tools.clock, () => admin.metadata({ topics: [] }))
  } catch (error) {
    // not awaited: a connection that is still being made would keep us for its whole time-out
    admin.close().catch(() => {})
    throw unreachable(error, settings)
  }
  const another = (more = {}) =>
    goRound(new client.Admin({ ...common, retries: 2, retryDelay: 200, ...more }), {
      ...detours,
      apis: admin,
    })
  const clerk = another()
  const producer = another()
  const rebalance = Math.max(REBALANCE, 2 * settings.session)
  const beforeSessionEnds = (request: string) =>
    OF_ALL_MEMBERS.includes(request) ? undefined : Math.min(ASK, settings.session / 3)
  return {
    client,
    settings,
    tools,
    admin,
    clerk,
    producer,
    counts: { produces: 0, commits: 0, fetches: 0 },
    fetcher: () => another({ retries: 0, requestTimeout: CONSUME }),
    transactor: (transactionalId) =>
      goRound(
        new client.Producer({
          ...common,
          idempotent: true,
          transactionalId,
          producerId: -1n,
          producerEpoch: -1,
          // also how long brokers keep open what a dead process began: readers wait for that
          timeout: TRANSACTION,
          // the end of the one before may still be on its way when the next begins
          retries: 50,
          retryDelay: 20,
        }),
        { ...detours, apis: admin },
      ),
    member: ({ groupId, beforeJoin, assign }) => {
      const consumer = goRound(
        new client.Consumer({
          ...common,
          groupId,
          protocolsMetadata: () => beforeJoin().then(() => NOTHING),
          partitionAssigner: assign,
          autocommit: false,
          protocols: [{ name: 'roundrobin', version: 1 }],
          sessionTimeout: settings.session,
          heartbeatInterval: settings.heartbeat,
          rebalanceTimeout: rebalance,
          requestTimeout: rebalance + PRODUCE / 2,
          // Then it is told, and tried again by our clock.
          retries: 8,
          retryDelay: 250,
        }),
        { ...detours, apis: admin, limit: beforeSessionEnds },
      )
      return seekCoordinator(consumer, client)
    },
    close: async () => {
      await Promise.allSettled([producer.close(), clerk.close(), admin.close()])
    },
  }
}
