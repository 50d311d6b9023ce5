import type { Clock } from '../../contracts/tools.ts'
import type { Returning } from '../../contracts/transport.ts'
import { ReprieveError } from '../../core/error.ts'
import { replyCode } from './client.ts'
import type { Link } from './link.ts'
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
  link: Link,
  outlet: Outlet,
  clock: Clock,
): Promise<readonly (Error | undefined)[]> => {
  const { place } = link
  const answers: (Error | undefined)[] = messages.map(() => undefined)
  const items = messages.map((message, n) => ({ n, to: message.origin.to, item: returningMessage(message) }))
  for (const [exchange, some] of Map.groupBy(items, ({ item }) => item.exchange)) {
    try {
      await lookFor(exchange, link, clock)
      const fates = await outlet.send(some.map(({ item }) => item))
      for (const [i, fate] of fates.entries()) {
        const { n, to } = some[i]!
        if (fate !== 'kept')
          answers[n] = fate === 'unroutable' ? untaken(to, place) : explained(fate, to, place)
      }
    } catch (error) {
      for (const { n, to } of some) answers[n] = explained(error as Error, to, place)
    }
  }
  return answers
}

/** The default exchange is always there, and can't be asked for. */
const lookFor = async (exchange: string, link: Link, clock: Clock): Promise<void> => {
  if (exchange === '') return
  await declareOn(await link.patiently(), clock, link.place, async (channel) => {
    await channel.checkExchange(exchange)
  })
}

const explained = (error: Error, to: string, place: string): Error => {
  const code = replyCode(error.cause)
  if (code === NOT_FOUND) return untaken(to, place)
  return code === REFUSED ? forbidden(to, place, error) : error
}

const untaken = (to: string, place: string): ReprieveError =>
  new ReprieveError('unheard', `nobody takes what is sent to ${to} on RabbitMQ at ${place}`, {
    fix: 'start its consumer once, which declares and binds its queue; or replay: queue or service under foreign in the rule book',
  })

const forbidden = (to: string, place: string, cause: Error): ReprieveError =>
  new ReprieveError('unheard', `this user may not send to ${to} on RabbitMQ at ${place}`, {
    fix: 'give the user write permission on that exchange; or replay: queue or service under foreign in the rule book',
    cause,
  })
