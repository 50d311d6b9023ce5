import type { Clock } from '../../contracts/tools.ts'
import type { Returning } from '../../contracts/transport.ts'
import { ReprieveError } from '../../core/error.ts'
import type { Fate } from './batch.ts'
import { type Connection, replyCode } from './client.ts'
import type { Outlet } from './outlet.ts'
import { returningMessage } from './returning.ts'
import { declareOn } from './topology.ts'

const NOT_FOUND = 404
const REFUSED = 403

/**
 * Exchange by exchange, each looked for first: to publish to one that is not there, or that is not ours to write to, closes
 * the channel, and with it goes whatever else is on its way.
 */
export const sendBack = async (
  messages: readonly Returning[],
  outlet: Outlet,
  clock: Clock,
  place: string,
): Promise<readonly (Error | undefined)[]> => {
  const answers: (Error | undefined)[] = messages.map(() => undefined)
  const items = messages.flatMap((message, n) => {
    const { to } = message.origin
    const item = returningMessage(message)
    if (!item) answers[n] = nowhere(to, place)
    return item ? [{ n, to, item }] : []
  })
  for (const [exchange, some] of Map.groupBy(items, ({ item }) => item.exchange)) {
    const isThere = (connection: Connection) =>
      declareOn(connection, clock, place, async (channel) => void (await channel.checkExchange(exchange)))
    // the default exchange is always there, and can't be asked for
    const fates = await outlet.send(
      some.map(({ item }) => item),
      exchange === '' ? undefined : isThere,
    )
    for (const [i, { n, to }] of some.entries()) answers[n] = answerTo(fates[i]!, to, place)
  }
  return answers
}

const answerTo = (fate: Fate, to: string, place: string): Error | undefined => {
  if (fate === 'kept') return undefined
  if (fate === 'unroutable') return untaken(to, place)
  const code = replyCode(fate.cause)
  if (code === NOT_FOUND) return untaken(to, place)
  return code === REFUSED ? forbidden(to, place, fate) : fate
}

const nowhere = (to: string, place: string): ReprieveError =>
  new ReprieveError('unheard', `${to} is no place on RabbitMQ at ${place}`, {
    fix: 'replay it by the transport that it came from; or replay: queue or service under foreign in the rule book',
  })

const untaken = (to: string, place: string): ReprieveError =>
  new ReprieveError('unheard', `nobody takes what is sent to ${to} on RabbitMQ at ${place}`, {
    fix: 'start its consumer once, which declares and binds its queue; or replay: queue or service under foreign in the rule book',
  })

const forbidden = (to: string, place: string, cause: Error): ReprieveError =>
  new ReprieveError('unheard', `this user may not send to ${to} on RabbitMQ at ${place}`, {
    fix: 'give the user write permission on that exchange; or replay: queue or service under foreign in the rule book',
    cause,
  })
