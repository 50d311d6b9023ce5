import type { Tools } from '../../contracts/tools.ts'
import { within } from '../../core/within.ts'
import {
  type Channel,
  type Connection,
  closeQuietly,
  type ExchangeOptions,
  isDown,
  type Message,
  type QueueOptions,
  replyCode,
  saidIn,
} from './client.ts'
import { openWithin, PATIENCE } from './patience.ts'

/** What the broker said: nothing where it agreed. */
export interface Said {
  readonly code?: number
  readonly text: string
}

/** What is asked of a channel here, and nowhere else in this folder. */
export interface Asking extends Channel {
  unbindExchange(to: string, from: string, key: string): Promise<unknown>
  unbindQueue(queue: string, from: string, key: string): Promise<unknown>
  consume(
    queue: string,
    take: (message: Message | null) => void,
    options?: { arguments: Readonly<Record<string, unknown>> },
  ): Promise<{ consumerTag: string }>
}

/**
 * Questions that a broker answers with yes or a refusal, and that change nothing whatever it answers. It looks at
 * permissions before anything else, so what can't be done for another reason was permitted: each asks for something
 * impossible.
 */
export interface Questions {
  /** With what was said where its node is down: then nothing else can be asked of it. */
  queueThere(name: string): Promise<boolean | Said>
  exchangeThere(name: string): Promise<boolean>
  /** How many messages are ready there: none, where there is no such queue. */
  waiting(name: string): Promise<number>
  /** Of one that is there: declared as we would. Nothing said: it is as we want it, and may be configured. */
  sameQueue(name: string, options: QueueOptions): Promise<Said>
  sameExchange(name: string, type: string, options?: ExchangeOptions): Promise<Said>
  /** Of one that is missing: with an argument that can't be. 406: it might have been made. */
  configureQueue(name: string, options: QueueOptions): Promise<Said>
  configureExchange(name: string, type: string): Promise<Said>
  /** Takes a binding away that nobody has: 403, or whatever. */
  useExchange(name: string): Promise<Said>
  /** The same of a queue: to bind it takes the right to write to it, and to read the exchange. */
  bindQueue(name: string, to: string): Promise<Said>
  /** Consumes with a priority that is none: 403, or whatever. */
  readQueue(name: string): Promise<Said>
  /** Publishes, by the default exchange, to a queue that nobody has. It comes back. */
  publish(): Promise<Said | 'late'>
}

const IMPOSSIBLE_LENGTH = { 'x-max-length': -1 }
const IMPOSSIBLE_ALTERNATE = { 'alternate-exchange': 0 }
const IMPOSSIBLE_PRIORITY = { 'x-priority': 'none' }
const BLOCKED_AFTER = 2000

/** A refusal closes its channel, so each question has one of its own. */
export const questionsOf = (connection: Connection, { clock, dice }: Tools): Questions => {
  const late = () => new Error(`no answer within ${PATIENCE} ms`)
  const nobody = `reprieve.doctor.${dice.uuid()}`

  const ask = async (question: (channel: Asking) => Promise<unknown>): Promise<Said> => {
    const channel = (await openWithin(clock, connection.createChannel(), late)) as Asking
    try {
      await within(clock, PATIENCE, question(channel), late)
      return { text: '' }
    } catch (error) {
      const code = replyCode(error)
      if (code === undefined) throw error
      return { code, text: saidIn(error as Error) }
    } finally {
      void closeQuietly(channel)
    }
  }

  return {
    queueThere: async (name) => {
      const said = await ask((channel) => channel.checkQueue(name))
      return said.code === 404 && isDown(said.text) ? said : said.code !== 404
    },
    waiting: async (name) => {
      let count = 0
      await ask(async (channel) => {
        count = (await channel.checkQueue(name)).messageCount
      })
      return count
    },
    exchangeThere: async (name) => (await ask((channel) => channel.checkExchange(name))).code !== 404,
    sameQueue: (name, options) => ask((channel) => channel.assertQueue(name, options)),
    sameExchange: (name, type, options = { durable: true }) =>
      ask((channel) => channel.assertExchange(name, type, options)),
    configureQueue: (name, { durable, arguments: args }) =>
      ask((channel) => channel.assertQueue(name, { durable, arguments: { ...args, ...IMPOSSIBLE_LENGTH } })),
    configureExchange: (name, type) =>
      ask((channel) =>
        channel.assertExchange(name, type, { durable: true, arguments: IMPOSSIBLE_ALTERNATE }),
      ),
    useExchange: (name) => ask((channel) => channel.unbindExchange(name, name, nobody)),
    bindQueue: (name, to) => ask((channel) => channel.unbindQueue(name, to, nobody)),
    readQueue: (name) =>
      ask((channel) => channel.consume(name, () => {}, { arguments: IMPOSSIBLE_PRIORITY })),
    publish: async () => {
      const channel = await openWithin(clock, connection.createConfirmChannel(), late)
      let closed: Error | undefined
      channel.on('error', (error) => {
        closed = error
      })
      const sent = new Promise<Said>((resolve) => {
        const options = { mandatory: true, persistent: true, headers: {} } as const
        channel.publish('', nobody, Buffer.alloc(0), options, (error) => {
          const reason = closed ?? error
          const code = replyCode(reason ?? {})
          resolve({ text: reason?.message ?? '', ...(code !== undefined && { code }) })
        })
      })
      try {
        return await within(clock, BLOCKED_AFTER, sent, late)
      } catch {
        return 'late' // whoever is held up is told why by another way
      } finally {
        void closeQuietly(channel)
      }
    },
  }
}
