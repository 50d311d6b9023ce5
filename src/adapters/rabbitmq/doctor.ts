import type { Doctor, Needed, Needs } from '../../contracts/doctor.ts'
import { span } from '../../core/time.ts'
import { addressed, CHECKS, DEFAULT_EXCHANGE, down, type Found, refused } from './checks.ts'
import { type Connection, type ExchangeOptions, loadClient, type QueueOptions } from './client.ts'
import { examineForeign } from './doctor-foreign.ts'
import { openLink } from './link.ts'
import { examinePolicies } from './management.ts'
import { exchangeOfDead, HOME, HOMELESS, queueOf, TIERS, tierName } from './names.ts'
import { type Questions, questionsOf, type Said } from './questions.ts'
import { readUrl, type Settings } from './settings.ts'
import {
  destinationOptions,
  homelessOptions,
  homeOptions,
  subscriptionOptions,
  tierOptions,
} from './topology.ts'

/** Quorum queues that dead-letter at least once came with 3.10. */
const OLDEST = [3, 10] as const
/** Its `consumer_timeout`, unless its operator changed it: AMQP does not tell. */
const CONSUMER_TIMEOUT = 30 * 60_000
const LOOK = "rabbitmqctl eval 'application:get_env(rabbit, consumer_timeout).'"

export const doctor: Doctor = {
  checks: CHECKS,
  examine: async (url, needs, tools) => {
    const settings = readUrl(url, process.env)
    const link = openLink(await loadClient(), settings, tools)
    try {
      const connection = await link.connection()
      const questions = questionsOf(connection, tools)
      const findings: Found[] = [...server(connection, settings), ...times(needs)]
      for (const each of wantedBy(needs, settings))
        findings.push(...(await examineOne(each, questions, settings)))
      for (const each of needs.foreign ?? [])
        findings.push(...(await examineForeign(each, questions, greetingOf(connection).release)))
      findings.push(...(await homeless(questions)))
      findings.push(...(await examinePolicies(needs, settings, process.env)))
      // in the end, for a broker with an alarm hears nothing more from who has published
      findings.push(...(await publishing(questions, link.blocked)))
      return gathered(findings).map((each) => addressed(each, settings.server))
    } finally {
      await link.close()
    }
  },
}

/** Of the client's own, as far as it is looked at here. */
interface Greeting {
  readonly connection?: {
    readonly serverProperties?: { readonly product?: unknown; readonly version?: unknown }
    readonly heartbeat?: number
  }
}

const greetingOf = (connection: Connection) => {
  const { serverProperties, heartbeat } = (connection as Greeting).connection ?? {}
  return {
    product: String(serverProperties?.product ?? 'an AMQP server'),
    release: String(serverProperties?.version ?? '?'),
    heartbeat,
  }
}

export const version = (product: string, release: string): Found => {
  const [major = 0, minor = 0] = release.split('.').map(Number)
  const old = !(major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]))
  const where = 'server'
  if (product !== 'RabbitMQ' || old) {
    return {
      check: 'rabbitmq-version',
      level: 'wrong',
      where,
      what: `${product} ${release}`,
      why: `quorum queues with a delivery limit that lose nothing when they dead-letter came with RabbitMQ ${OLDEST.join('.')}`,
      fix: `use RabbitMQ ${OLDEST.join('.')} or newer`,
    }
  }
  const limits =
    major >= 4
      ? ': a queue without a delivery limit has one of 20 there; ours are declared with their own'
      : ''
  return { check: 'rabbitmq-version', level: 'fine', where, what: `RabbitMQ ${release}${limits}` }
}

function* server(connection: Connection, { server, queue }: Settings): Generator<Found> {
  const { product, release, heartbeat } = greetingOf(connection)
  yield version(product, release)
  if (queue === 'classic') {
    yield {
      check: 'rabbitmq-queue-type',
      level: 'risky',
      where: '?queue=classic',
      what: 'classic queues were asked for',
      why: 'they stand on one node, and what the broker dead-letters by itself may be lost',
      fix: 'leave ?queue= out of the URL: quorum queues are the default',
    }
  }
  const beats = (heartbeat ?? server.heartbeat) > 0
  yield {
    check: 'rabbitmq-heartbeat',
    level: beats ? 'fine' : 'risky',
    where: 'connection',
    what: beats ? `every ${heartbeat} s` : 'there is none',
    ...(!beats && {
      why: 'a connection that is half-open is never noticed: its deliveries are held until the system gives up',
      fix: 'leave ?heartbeat= out of the URL (15 s), and let the server have one',
    }),
  }
}

function* times({ subscriptions }: Needs): Generator<Found> {
  const over = subscriptions.filter(({ unsettled }) => unsettled > CONSUMER_TIMEOUT)
  for (const { to, unsettled } of over) {
    yield {
      check: 'rabbitmq-consumer-timeout',
      level: 'risky',
      where: queueOf(to),
      what: `a delivery may stay unsettled for ${minutes(unsettled)}, and consumer_timeout is ${minutes(CONSUMER_TIMEOUT)} by default (${LOOK} shows it)`,
      why: 'the broker ends the consumer then, and everything in its window is delivered again',
      fix: "make 'window' smaller, 'concurrency' larger or 'timeout' shorter; or raise consumer_timeout on the broker",
    }
  }
  if (over.length === 0) {
    const what = `nothing stays unsettled for the default of ${minutes(CONSUMER_TIMEOUT)}; another one AMQP does not tell: ${LOOK}`
    yield { check: 'rabbitmq-consumer-timeout', level: 'fine', where: 'consumer_timeout', what }
  }
  yield* retention(subscriptions)
}

const minutes = (ms: number): string => `${Math.round(ms / 6000) / 10} min`

function* retention(subscriptions: readonly Needed[]): Generator<Found> {
  const told = new Set<string>()
  for (const { to, retention: keep } of subscriptions) {
    for (const { name, expire } of to.destinations) {
      if (expire === undefined || expire >= keep || told.has(name)) continue
      told.add(name)
      yield {
        check: 'rabbitmq-retention',
        level: 'risky',
        where: name,
        what: `the broker drops letters there after ${span(expire)}, and the rules keep them for ${span(keep)}`,
        why: 'a letter that no office takes over in that time is gone, with the event in it',
        fix: "make 'deadLetter.expire' as long as 'retention', or let an office run",
      }
    }
  }
  if (told.size === 0) {
    const what = 'the broker drops no letter before its time'
    yield { check: 'rabbitmq-retention', level: 'fine', where: 'dead letters', what }
  }
}

/** Nobody looks there by itself: a wait whose queue is gone is kept, and not handled. */
const homeless = async (questions: Questions): Promise<readonly Found[]> => {
  const count = await questions.waiting(HOMELESS)
  const where = `queue ${HOMELESS}`
  if (count === 0)
    return [{ check: 'rabbitmq-homeless', level: 'fine', where, what: 'no wait has lost its queue' }]
  return [
    {
      check: 'rabbitmq-homeless',
      level: 'risky',
      where,
      what: `${count} waits lie there whose queue was gone when they came home`,
      why: 'they are kept, and nobody handles them',
      fix: `name ${HOMELESS} under foreign in the rule book: an office keeps them as letters, which can be replayed once their queue is there again; or purge it, where their service was retired`,
    },
  ]
}

/** An alarm is told to those who publish, and only to them. */
const publishing = async (
  questions: Questions,
  blocked: () => string | undefined,
): Promise<readonly Found[]> => {
  const said = await questions.publish()
  const why = blocked()
  if (said === 'late' || why !== undefined) {
    return [
      {
        check: 'rabbitmq-alarm',
        level: 'wrong',
        where: 'server',
        what: `it takes no messages at the moment (${why ?? 'it does not confirm'})`,
        why: 'nothing can be published, retried or buried until it does; consumers go on and then wait',
        fix: 'free memory or disk on the broker, or raise vm_memory_high_watermark and disk_free_limit with care',
      },
    ]
  }
  const fine: Found = { check: 'rabbitmq-alarm', level: 'fine', where: 'server', what: 'it takes messages' }
  if (said.code !== 403) return [fine]
  return [fine, refused(DEFAULT_EXCHANGE, 'write', said)]
}

/** A queue or an exchange that a subscription needs. */
type Wanted =
  | {
      readonly is: 'queue'
      readonly name: string
      readonly options: QueueOptions
      /** The exchange that it is bound to. */
      readonly boundTo?: string
    }
  | {
      readonly is: 'exchange'
      readonly name: string
      readonly type: string
      readonly options?: ExchangeOptions
    }

const wantedBy = ({ subscriptions, receipts }: Needs, { exchange, queue }: Settings): readonly Wanted[] => {
  if (subscriptions.length === 0) return []
  const all: Wanted[] = [{ is: 'exchange', name: exchange, type: 'topic' }]
  for (const { to } of subscriptions) {
    const name = queueOf(to)
    const boundTo = exchangeOfDead(name)
    all.push({ is: 'exchange', name: boundTo, type: 'direct' })
    for (const each of to.destinations)
      all.push({ is: 'queue', name: each.name, options: destinationOptions(each), boundTo })
    all.push({ is: 'queue', name, options: subscriptionOptions(to, queue), boundTo: exchange })
  }
  if (receipts) all.push({ is: 'queue', name: receipts, options: destinationOptions({ name: receipts }) })
  all.push({ is: 'exchange', name: HOMELESS, type: 'fanout' })
  all.push({ is: 'queue', name: HOMELESS, options: homelessOptions, boundTo: HOMELESS })
  all.push({ is: 'exchange', name: HOME, type: 'direct', options: homeOptions })
  for (const tier of TIERS) {
    all.push({ is: 'exchange', name: tierName(tier), type: 'fanout' })
    all.push({ is: 'queue', name: tierName(tier), options: tierOptions(tier), boundTo: tierName(tier) })
  }
  return [...new Map(all.map((each) => [`${each.is} ${each.name}`, each])).values()]
}

export const examineOne = async (
  wanted: Wanted,
  questions: Questions,
  settings: Settings,
): Promise<readonly Found[]> => {
  const { is, name } = wanted
  const where = `${is} ${name}`
  const there = await (is === 'queue' ? questions.queueThere(name) : questions.exchangeThere(name))
  if (typeof there === 'object') return [down('rabbitmq-missing', where, there)]
  const found: Found[] = []
  const made = await (there ? declared(wanted, questions) : declarable(wanted, questions))
  if (made.code === 403) found.push(refused(where, 'configure', made))
  else if (there && made.code !== undefined) found.push(differs(where, made, settings))
  else if (there)
    found.push({ check: 'rabbitmq-differs', level: 'fine', where, what: 'it was declared as it should be' })
  else found.push({ check: 'rabbitmq-missing', level: 'fine', where, what: 'not there yet; it will be made' })
  const used = await (is === 'queue' ? questions.readQueue(name) : questions.useExchange(name))
  if (used.code === 403) found.push(refused(where, is === 'queue' ? 'read' : 'write and read', used))
  if (is === 'queue' && wanted.boundTo !== undefined) {
    const bound = await questions.bindQueue(name, wanted.boundTo)
    const lacks = bound.code === 403 && refused(where, 'write', bound)
    // exchanges are asked about by themselves
    if (lacks && lacks.where === where) found.push(lacks)
  }
  return found
}

const declared = (wanted: Wanted, questions: Questions): Promise<Said> =>
  wanted.is === 'queue'
    ? questions.sameQueue(wanted.name, wanted.options)
    : questions.sameExchange(wanted.name, wanted.type, wanted.options)

const declarable = (wanted: Wanted, questions: Questions): Promise<Said> =>
  wanted.is === 'queue'
    ? questions.configureQueue(wanted.name, wanted.options)
    : questions.configureExchange(wanted.name, wanted.type)

const DIFFERENCE = /inequivalent arg '(.+?)'/
const VALUES = /received (.+) but current is (.+)$/

const differs = (where: string, { text }: Said, { place }: Settings): Found => {
  const [, setting] = DIFFERENCE.exec(text) ?? []
  const [, asked, has] = VALUES.exec(text) ?? []
  const values = has ? `: we ask for ${asked}, it has ${has}` : ''
  const limit = setting === 'x-delivery-limit'
  return {
    check: 'rabbitmq-differs',
    level: 'wrong',
    where,
    what: setting ? `it exists with another ${setting}${values}` : text,
    why: limit
      ? 'the broker itself would bury what was delivered too often, before the rules say so; and a service refuses to start'
      : 'a service that needs it refuses to start',
    fix: `ask for what is there (in the rules or the URL), or empty and delete the ${where} at ${place} yourself; nothing is ever deleted for you`,
  }
}

/** What is well is said in one line for each check, however many queues there are. */
const gathered = (findings: readonly Found[]): readonly Found[] => {
  const told = findings.filter(
    ({ level, check, where, what }, at) =>
      (level !== 'fine' || !check.match(/differs|missing/)) &&
      findings.findIndex((each) => each.check === check && each.where === where && each.what === what) === at,
  )
  const count = (check: Found['check']) =>
    findings.filter((each) => each.check === check && each.level === 'fine').length
  const same = count('rabbitmq-differs')
  const missing = count('rabbitmq-missing')
  const where = 'queues and exchanges'
  if (same > 0)
    told.push({
      check: 'rabbitmq-differs',
      level: 'fine',
      where,
      what: `${same} were declared as they should be`,
    })
  if (missing > 0)
    told.push({
      check: 'rabbitmq-missing',
      level: 'fine',
      where,
      what: `${missing} are not there yet and will be made`,
    })
  if (same + missing > 0 && !told.some(({ check }) => check === 'rabbitmq-permissions')) {
    const what = 'the user may do what is needed'
    told.push({ check: 'rabbitmq-permissions', level: 'fine', where, what })
  }
  return told
}
