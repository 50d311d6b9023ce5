import type { Finding } from '../../contracts/doctor.ts'
import type { Server } from './client.ts'
import type { Said } from './questions.ts'

/** What the doctor looks at. */
export const CHECKS = [
  'rabbitmq-version',
  'rabbitmq-queue-type',
  'rabbitmq-heartbeat',
  'rabbitmq-alarm',
  'rabbitmq-permissions',
  'rabbitmq-differs',
  'rabbitmq-missing',
  'rabbitmq-policies',
  'rabbitmq-consumer-timeout',
  'rabbitmq-retention',
  'rabbitmq-foreign',
  'rabbitmq-homeless',
] as const
export type Found = Finding<(typeof CHECKS)[number]>

const RESOURCE = /^(?:ACCESS_REFUSED - )?(?:(\w+) )?access to (\w+) '(.+?)' in vhost/
export const DEFAULT_EXCHANGE = 'exchange amq.default'

/** Nothing can be made in its place, taken from it or put into it until its node is back. */
export const down = (check: Found['check'], where: string, { text }: Said): Found => ({
  check,
  level: 'wrong',
  where,
  what: `it can't be reached: ${text.replace(/^NOT_FOUND - /, '')}`,
  why: 'nothing is taken from it or put into it, and a service or an office that needs it waits',
  fix: 'start that node again; where it is lost for good take it out of the cluster (rabbitmqctl forget_cluster_node), and delete the queue with what was in it yourself',
})

const VHOST = '<vhost>'
const USER = '<our user>'

/** As a shell takes it. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** Who lacks it, and where: known when all has been asked. */
export const addressed = (finding: Found, { username = 'guest', vhost = '/' }: Server): Found => {
  const { fix } = finding
  if (!fix) return finding
  const named = fix
    .replace(VHOST, () => quoted(decodeURIComponent(vhost)))
    .replace(USER, () => quoted(username))
  return { ...finding, fix: named }
}

/** The broker names what it refuses: to declare a queue that dead-letters needs rights on more than the queue. */
export const refused = (asked: string, right: string, { text }: Said): Found => {
  const [, access, kind, name] = RESOURCE.exec(text) ?? []
  const where = name === undefined ? asked : `${kind} ${name}`
  const other = where !== asked
  return {
    check: 'rabbitmq-permissions',
    level: 'wrong',
    where: where === DEFAULT_EXCHANGE ? `${where} (the default exchange)` : where,
    what: `the user lacks the ${access ?? (other ? 'write' : right)} permission`,
    why: 'a service that needs it refuses to start, or can neither retry nor bury',
    fix: `rabbitmqctl set_permissions -p ${VHOST} ${USER} <configure> <write> <read>, with patterns that take in this name`,
  }
}
