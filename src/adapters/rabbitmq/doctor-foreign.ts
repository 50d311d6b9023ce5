import type { NeededForeign } from '../../contracts/doctor.ts'
import { span } from '../../core/time.ts'
import { down, type Found, refused } from './checks.ts'
import type { QueueOptions } from './client.ts'
import type { Questions } from './questions.ts'

/** A queue that others declared, from which the office takes their dead letters. It is never declared by us. */
export const examineForeign = async (
  { name, keep }: NeededForeign,
  questions: Questions,
  release: string,
): Promise<readonly Found[]> => {
  const where = `queue ${name}`
  const there = await questions.queueThere(name)
  if (typeof there === 'object') return [down('rabbitmq-foreign', where, there)]
  if (!there) {
    return [
      risky(
        where,
        'it is not there',
        'the office looks again until it is; if the name is wrong that is for ever, and its letters stay unseen',
        'start whoever declares it, or mend its name under foreign in the rule book',
      ),
    ]
  }
  const read = await questions.readQueue(name)
  if (read.code === 403) return [refused(where, 'read', read)]
  const had = await settingsOf(name, questions)
  const found = [...trouble(where, had, keep, Number.parseInt(release, 10))]
  if (found.some(({ level }) => level === 'wrong')) return found
  if (had.unseen === undefined && found.length > 0) return found
  const policies = 'what policies add to it is not seen from here'
  const what = had.unseen ?? `it is there, and drops nothing by its own arguments; ${policies}`
  return [...found, { check: 'rabbitmq-foreign', level: 'fine', where, what }]
}

interface Had extends QueueOptions {
  /** Why not all of it could be seen. */
  readonly unseen?: string
}

/** Known to streams only: it is passed over where a queue is there, and nothing can be made with it. */
export const IMPOSSIBLE_AGE = { 'x-max-age': 'never' }
const DIFFERENCE = /inequivalent arg '(.+?)'/
const CURRENT = /but current is (?:the value )?'(.*?)'(?: of type '(\w+)')?$/
const MOST = 30

/**
 * AMQP shows no arguments of a queue. But a broker refuses to declare it with others, and names the first that differs
 * with its value: so it is asked with all that is known until it agrees.
 */
const settingsOf = async (name: string, questions: Questions): Promise<Had> => {
  let had: Had = { durable: true, autoDelete: false, arguments: {} }
  for (let i = 0; i < MOST; i++) {
    const { code, text } = await questions.sameQueue(name, {
      ...had,
      arguments: { ...had.arguments, ...IMPOSSIBLE_AGE },
    })
    if (code === undefined) return had
    if (code === 403)
      return { ...had, unseen: 'it is there; what it drops is shown only to users who may configure it' }
    if (code === 405) return { ...had, arguments: { exclusive: true } }
    const [, setting] = DIFFERENCE.exec(text) ?? []
    const [, value, type] = CURRENT.exec(text) ?? []
    if (setting === undefined || value === undefined || setting in had.arguments) {
      return { ...had, unseen: `it is there; not all of its arguments could be seen (${setting ?? text})` }
    }
    if (setting === 'durable') had = { ...had, durable: value === 'true' }
    else if (setting === 'auto_delete') had = { ...had, autoDelete: value === 'true' }
    else had = { ...had, arguments: { ...had.arguments, [setting]: typed(value, type) } }
  }
  return { ...had, unseen: 'it is there; it has more arguments than were asked for' }
}

const typed = (value: string, type = 'longstr'): string | number | boolean => {
  if (type === 'bool') return value === 'true'
  return type === 'longstr' ? value : Number(value)
}

/** What a queue without a delivery limit has from RabbitMQ 4.0 on. */
const LIMIT_OF_4 = 20

function* trouble(where: string, { durable, autoDelete, ...had }: Had, keep: number, major: number) {
  const { arguments: args } = had
  const type = args['x-queue-type'] ?? 'classic'
  const wrong = (what: string, why: string, fix: string): Found => ({
    ...risky(where, what, why, fix),
    level: 'wrong',
  })
  if (args.exclusive) {
    yield wrong(
      'it belongs to one connection alone',
      'no office can take anything from it',
      'let its owner declare it without exclusive',
    )
    return
  }
  if (type === 'stream') {
    yield wrong(
      'it is a stream',
      'a stream gives nothing up: an office would begin at its end each time, and miss what lies before',
      'name a queue that is bound to the same exchange',
    )
    return
  }
  if (!durable || autoDelete) {
    yield risky(
      where,
      durable ? 'it is deleted with its last consumer' : 'it is not durable',
      `its letters are gone when ${durable ? 'the office leaves' : 'the broker restarts'}`,
      `let its owner declare it as durable${durable ? ', and not as auto-delete' : ''}`,
    )
  }
  const { 'x-message-ttl': ttl, 'x-expires': expires, 'x-dead-letter-exchange': onward } = args
  const gone =
    onward === undefined ? 'gone' : `passed on to the exchange '${onward}', out of the office's sight`
  for (const [setting, time] of [
    ['x-message-ttl', ttl],
    ['x-expires', expires],
  ] as const) {
    if (typeof time !== 'number' || time >= keep) continue
    yield risky(
      where,
      `its ${setting} is ${span(time)}`,
      setting === 'x-expires'
        ? `the queue itself is deleted, with all its letters, when no office has been there for so long`
        : `a letter that no office takes over in that time is ${gone}`,
      `let its owner leave it out or make it ${span(keep)} or more, or let an office run all the time`,
    )
  }
  for (const setting of ['x-max-length', 'x-max-length-bytes'] as const) {
    if (args[setting] === undefined) continue
    const refuses = String(args['x-overflow'] ?? 'drop-head').startsWith('reject')
    yield risky(
      where,
      `its ${setting} is ${args[setting]}`,
      refuses
        ? 'when it is full new letters are refused, and what the broker dead-letters by itself is lost'
        : `when it is full the oldest letters are ${gone}`,
      'let its owner leave it out, or let an office run all the time',
    )
  }
  const limit = args['x-delivery-limit'] ?? (type === 'quorum' && major >= 4 ? LIMIT_OF_4 : undefined)
  if (typeof limit === 'number' && limit >= 0 && limit < ENOUGH) {
    yield risky(
      where,
      `its delivery limit is ${limit}${args['x-delivery-limit'] === undefined ? ', the default from RabbitMQ 4.0 on' : ''}`,
      `a letter that offices were handed more often, because they were killed or their store was down, is ${gone}`,
      'let its owner declare it with a much higher x-delivery-limit, or raise it by a policy',
    )
  }
}

const ENOUGH = 1000

const risky = (where: string, what: string, why: string, fix: string): Found => ({
  check: 'rabbitmq-foreign',
  level: 'risky',
  where,
  what,
  why,
  fix,
})
