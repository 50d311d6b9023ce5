import type { Needs } from '../../contracts/doctor.ts'
import { ReprieveError } from '../../core/error.ts'
import { decoded, strayAt } from '../../core/url.ts'
import type { Found } from './checks.ts'
import { HOMELESS, queueOf, TIERS, tierName } from './names.ts'
import { PATIENCE } from './patience.ts'
import type { Settings } from './settings.ts'
import { DELIVERY_LIMIT } from './topology.ts'

/** Where the management API is, by the environment: AMQP tells nothing of policies. */
export const MANAGEMENT = 'REPRIEVE_RABBITMQ_MANAGEMENT'

type Definition = Readonly<Record<string, unknown>>

/** Of each queue what its policies make of it; of the server which of its features are off. Asks, and changes nothing. */
export const examinePolicies = async (
  needs: Needs,
  settings: Settings,
  env: Readonly<Record<string, string | undefined>>,
): Promise<readonly Found[]> => {
  const at = env[MANAGEMENT]
  if (!at) return [unseen()]
  const ask = asking(at, settings)
  try {
    const flags = await ask('feature-flags').then(
      (told) => told as readonly Flag[] | undefined,
      (error: Error) => error,
    )
    if (!flags) return [unasked(new Error('no management API is there (404)'))]
    const found = flags instanceof Error ? [] : [...features(flags)]
    const vhost = encodeURIComponent(decodeURIComponent(settings.server.vhost ?? '/'))
    let seen = 0
    const queues = [...queuesOf(needs)]
    for (const queue of queues) {
      const told = (await ask(`queues/${vhost}/${encodeURIComponent(queue.name)}`)) as Told | undefined
      if (!told) continue
      seen++
      found.push(...harm(queue, told))
    }
    // nothing else was asked: whether this user is heard at all is not known
    if (flags instanceof Error && queues.length === 0) return [unasked(flags)]
    const what = `${seen} queues: no policy makes them drop anything before its time`
    if (found.length === 0)
      found.push({ check: 'rabbitmq-policies', level: 'fine', where: 'management API', what })
    return flags instanceof Error ? [...found, untold(flags)] : found
  } catch (error) {
    return [unasked(error as Error)]
  }
}

interface Flag {
  readonly name: string
  readonly state: string
}

interface Told {
  readonly policy?: string | null
  readonly operator_policy?: string | null
  readonly effective_policy_definition?: Definition | readonly []
}

interface Asked {
  readonly name: string
  /** Events wait there, for a handler or for their time; or letters lie there. */
  readonly keeps: 'events' | 'letters'
  /** How long a letter must be able to lie there. */
  readonly keep: number
  /** How long a delivery may stay unsettled. */
  readonly unsettled: number
}

const queuesOf = ({ subscriptions, foreign = [] }: Needs): Iterable<Asked> => {
  const all: Asked[] = []
  for (const { to, unsettled, retention } of subscriptions) {
    all.push({ name: queueOf(to), keeps: 'events', keep: Number.POSITIVE_INFINITY, unsettled })
    for (const { name } of to.destinations)
      all.push({ name, keeps: 'letters', keep: retention, unsettled: 0 })
  }
  if (subscriptions.length > 0) {
    for (const name of [...TIERS.map(tierName), HOMELESS])
      all.push({ name, keeps: 'events', keep: Number.POSITIVE_INFINITY, unsettled: 0 })
  }
  for (const { name, keep } of foreign) all.push({ name, keeps: 'letters', keep, unsettled: 0 })
  return new Map(all.map((each) => [each.name, each])).values()
}

function* harm({ name, keeps, keep, unsettled }: Asked, told: Told): Generator<Found> {
  const definition: Definition = { ...told.effective_policy_definition }
  const whose = [
    told.operator_policy && `operator policy '${told.operator_policy}'`,
    told.policy && `policy '${told.policy}'`,
  ]
  const by = whose.filter(Boolean).join(' and ')
  const number = (key: string): number => {
    const value = definition[key]
    return typeof value === 'number' ? value : Number.POSITIVE_INFINITY
  }
  const found = (level: 'wrong' | 'risky', key: string, why: string): Found => ({
    check: 'rabbitmq-policies',
    level,
    where: `queue ${name}`,
    what: `its ${key} is ${definition[key]}, by ${by}`,
    why,
    fix: 'let the policy pass by our queues, by its pattern or its priority; rabbitmqctl list_queues name policy operator_policy effective_policy_definition shows them',
  })
  const level = keeps === 'events' ? 'wrong' : 'risky'
  if (number('message-ttl') < keep)
    yield found(level, 'message-ttl', `${keeps} are taken out by the broker before their time`)
  if (number('expires') < keep) {
    yield found(
      level,
      'expires',
      `the queue is deleted, with the ${keeps} in it, when nobody consumes it for so long`,
    )
  }
  for (const key of ['max-length', 'max-length-bytes']) {
    if (key in definition)
      yield found(
        'risky',
        key,
        keeps === 'events'
          ? 'when it is full, new ones are refused or old ones dropped; retries that it refuses hold up those of all others in the tiers'
          : 'when it is full, new ones are refused or old ones dropped',
      )
  }
  const limit = number('delivery-limit')
  // from 4.0 on a negative one is none
  if (limit >= 0 && limit < DELIVERY_LIMIT) {
    yield found(
      'risky',
      'delivery-limit',
      'the broker takes out what was delivered too often, before the rules do',
    )
  }
  if (number('consumer-timeout') < unsettled) {
    yield found(
      'risky',
      'consumer-timeout',
      'deliveries may stay unsettled for longer; then the broker ends the consumer, and they come again',
    )
  }
}

/** Both are part of every later server; on an older one an operator may have left them off. */
const NEEDED = ['quorum_queue', 'stream_queue']

function* features(flags: readonly Flag[]): Generator<Found> {
  for (const { name, state } of flags) {
    if (state !== 'disabled' || !NEEDED.includes(name)) continue
    yield {
      check: 'rabbitmq-policies',
      level: 'wrong',
      where: `feature flag ${name}`,
      what: 'it is disabled',
      why: 'quorum queues that dead-letter at least once need it: a service refuses to start, or loses waits',
      fix: `rabbitmqctl enable_feature_flag ${name}`,
    }
  }
}

/** The answer, or nothing where there is no such thing. */
const asking = (at: string, { server }: Settings): ((path: string) => Promise<unknown>) => {
  const stray = strayAt(at)
  if (stray) throw refuse(stray)
  if (!URL.canParse(at) || !/^https?:/.test(at)) throw refuse('it is no http:// or https:// URL')
  const { username, password, origin, pathname } = new URL(at)
  const user = decoded(username, 'the user', refuse) || server.username || 'guest'
  const secret = decoded(password, 'the password', refuse) || server.password || 'guest'
  const authorization = `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}`
  return async (path) => {
    const url = `${origin}${pathname.replace(/\/$/, '')}/api/${path}`
    const answer = await fetch(url, { headers: { authorization }, signal: AbortSignal.timeout(PATIENCE) })
    if (answer.status === 404) return undefined
    if (!answer.ok) throw new Error(`it answers ${answer.status} to the user '${user}'`)
    return answer.json()
  }
}

const refuse = (why: string): ReprieveError =>
  new ReprieveError('bad_url', `${MANAGEMENT}: ${why}`, {
    fix: 'write it as http://host:15672, with user:password@ if they are others than those of the transport',
  })

const LOOK = 'rabbitmqctl list_queues name policy operator_policy effective_policy_definition'

const unseen = (): Found => ({
  check: 'rabbitmq-policies',
  level: 'fine',
  where: 'policies',
  what: `not looked at, for AMQP tells none: a time to live, a length, an expiry or a delivery limit that a policy gives to our queues is not seen. Name the management API in ${MANAGEMENT}, or look yourself: ${LOOK}`,
})

const untold = ({ message }: Error): Found => ({
  check: 'rabbitmq-policies',
  level: 'fine',
  where: 'feature flags',
  what: `not looked at: ${message}, for they are told to administrators`,
})

const unasked = ({ message, cause }: Error): Found => ({
  check: 'rabbitmq-policies',
  level: 'risky',
  where: 'management API',
  what: `it could not be asked for policies: ${cause instanceof Error ? cause.message : message}`,
  why: 'what policies make of our queues stays unseen',
  fix: `mend ${MANAGEMENT}, and let its user have the tag monitoring and read its virtual host; or look yourself: ${LOOK}`,
})
