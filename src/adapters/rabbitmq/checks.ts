import type { Finding } from '../../contracts/doctor.ts'
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
] as const
export type Found = Finding<(typeof CHECKS)[number]>

const RESOURCE = /^(?:ACCESS_REFUSED - )?(?:(\w+) )?access to (\w+) '(.+?)' in vhost/
export const DEFAULT_EXCHANGE = 'exchange amq.default'

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
    fix: 'rabbitmqctl set_permissions -p <vhost> <our user> <configure> <write> <read>, with patterns that take in this name',
  }
}
