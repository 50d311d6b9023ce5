import type { Clock } from '../../contracts/tools.ts'
import type { Delivery } from '../../contracts/transport.ts'
import { ReprieveError } from '../../core/error.ts'
import { within } from '../../core/within.ts'
import { arrived } from './arrived.ts'
import { type Connection, closeQuietly, type Message, replyCode, saidIn } from './client.ts'
import type { Counts } from './counts.ts'
import { LEADERLESS, openChannel, PATIENCE, parting } from './patience.ts'
import { freshTags } from './tags.ts'
import { isUnavailable, unavailable } from './unreachable.ts'

/** A delivery that bears its tag: what looks it up in a table costs a consumer in a hurry a good deal more. */
export interface Handed extends Delivery {
  readonly session: Session
  /** NONE where it was settled, or is being settled. */
  tag: number
}

export const NONE = 0

/** The tag of what is still ours in this session. */
export const tagOf = (delivery: Delivery, session: Session): number => {
  const handed = delivery as Handed
  return handed.session === session && !session.ended() ? handed.tag : NONE
}

/** One channel's life as a consumer. When it ends its tags are void, and with them all that was handed over. */
export interface Session {
  /** Arrived and not yet handed over. */
  readonly waiting: Message[]
  /** Resolves with the reason when it is over. */
  readonly over: Promise<Error>
  ended(): boolean
  acknowledge(tags: readonly number[]): void
  giveBack(tags: readonly number[]): void
  /** To wherever the queue dead-letters. */
  reject(tags: readonly number[]): void
  close(): Promise<void>
}

interface Consumer {
  readonly queue: string
  /** Its queue has one active consumer at a time, for the sake of order. */
  readonly alone: boolean
  readonly window: number
  readonly place: string
  /** What lies there may be written by anyone, and all of it is looked at. */
  readonly collects: boolean
  readonly told: () => void
}

export const beginSession = async (
  connection: Connection,
  { queue, alone, window, place, collects, told }: Consumer,
  clock: Clock,
  counts: Counts,
): Promise<Session> => {
  const unanswered = () =>
    unavailable(place, `no answer within ${PATIENCE} ms when consuming '${queue}'`, undefined, {
      fix: LEADERLESS,
    })
  const channel = await openChannel(clock, place, connection.createChannel())
  const waiting: Message[] = []
  const tags = freshTags()
  const { promise: over, resolve } = Promise.withResolvers<Error>()
  let ended = false
  let consumer = ''
  const end = (why: string, cause?: Error, fix?: string): void => {
    ended = true
    waiting.length = 0 // nobody is handed it from here: it comes again
    resolve(unavailable(place, `the consumer of '${queue}' ended: ${why}`, cause, fix ? { fix } : {}))
  }
  channel.on('error', (error) => {
    if (TIMED_OUT.test(error.message)) end(`the channel was closed: ${error.message}`, error, SOONER)
    else end('the channel was closed', error)
  })
  channel.on('close', () => end('the channel or its connection was closed'))

  const start = async (): Promise<void> => {
    await channel.prefetch(window)
    const { consumerTag } = await channel.consume(queue, (message) => {
      if (message) {
        waiting.push(collects ? message : arrived(message))
        return told()
      }
      // the broker gives no reason: before 4.3 it was only the first of them
      end(
        'the broker cancelled it: the queue was deleted, its node went away, or a delivery stayed unsettled for too long (consumer_timeout)',
        undefined,
        `if it was consumer_timeout, ${SOONER}`,
      )
      void closeQuietly(channel)
    })
    consumer = consumerTag
  }
  try {
    await within(clock, PATIENCE, start(), unanswered)
  } catch (error) {
    void closeQuietly(channel)
    throw notConsumed(place, queue, error)
  }

  return {
    waiting,
    over,
    ended: () => ended,
    acknowledge: (settled) => {
      const { upTo, single } = tags.ack(settled)
      for (const tag of single) channel.ack(tagged(tag), false)
      if (upTo !== undefined) channel.ack(tagged(upTo), true)
      counts.acks += single.length + (upTo === undefined ? 0 : 1)
    },
    giveBack: (settled) => {
      for (const tag of settled) channel.nack(tagged(tag), false, true)
      tags.skip(settled)
      counts.returned += settled.length
    },
    reject: (settled) => {
      for (const tag of settled) channel.nack(tagged(tag), false, false)
      tags.skip(settled)
    },
    close: async () => {
      if (ended) return
      end('it was closed')
      const leave = async (): Promise<void> => {
        // between the two the next consumer would be handed what comes behind all that this one still has
        if (alone) return channel.close()
        await channel.cancel(consumer)
        channel.nackAll(true) // before the close, which would count as a delivery of each
        await channel.close()
      }
      await parting(clock, leave())
    },
  }
}

/** The broker's words when a delivery was not settled within `consumer_timeout`. */
const TIMED_OUT = /delivery acknowledgement.*timed out/is
const SOONER =
  "let deliveries be settled sooner: a shorter 'timeout' for handlers, a smaller 'window', a larger 'concurrency'; or raise consumer_timeout on the broker"

/** The queue did not answer whoever wanted to consume it. */
export const isUnanswered = (error: unknown): boolean =>
  error instanceof ReprieveError && error.fix === LEADERLESS

const tagged = (deliveryTag: number) => ({ fields: { deliveryTag } })

const notConsumed = (place: string, queue: string, error: unknown): Error => {
  if (isUnavailable(error)) return error as Error
  const what = `can't consume '${queue}'`
  if (!(error instanceof Error) || replyCode(error) !== 403) return unavailable(place, what, error)
  const fix = `give the user read permission on '${queue}'`
  return unavailable(place, `${what}: ${saidIn(error)}`, error, { fix })
}
