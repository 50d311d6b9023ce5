import { ReprieveError } from '../../core/error.ts'
import type { TlsOptions } from './tls.ts'

/**
 * The few members of amqplib that are used here. It is an optional peer: nobody who doesn't open an `amqp://`
 * URL needs it, and none of its types leave this folder.
 */
export interface Client {
  connect(server: Server, socket: SocketOptions): Promise<Connection>
}

export interface Server {
  readonly protocol: 'amqp' | 'amqps'
  readonly hostname: string
  readonly port: number
  readonly username?: string
  readonly password?: string
  /** Still percent-encoded: the client decodes it. */
  readonly vhost?: string
  /** Seconds. */
  readonly heartbeat: number
}

interface SocketOptions extends TlsOptions {
  readonly noDelay: boolean
  readonly keepAlive: boolean
  readonly timeout: number
  /** Ends the socket at once, whatever it is doing. */
  readonly signal: AbortSignal
  readonly clientProperties: Readonly<Record<string, string>>
}

export interface Connection {
  createChannel(): Promise<Channel>
  createConfirmChannel(): Promise<ConfirmChannel>
  close(): Promise<void>
  on(event: 'close', listener: (reason?: Error) => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'blocked', listener: (reason: string) => void): unknown
  on(event: 'unblocked', listener: () => void): unknown
  /** The client's own: nobody else tells that a connection was closed before anybody could listen to it. */
  readonly connection?: { readonly stream?: { readonly writableEnded?: boolean } }
}

/** Frames that come in one piece with the last of the greeting are read before the client hands the connection over. */
export const isClosed = ({ connection }: Connection): boolean => connection?.stream?.writableEnded ?? false

export interface Channel {
  assertExchange(name: string, type: string, options: ExchangeOptions): Promise<unknown>
  assertQueue(name: string, options: QueueOptions): Promise<QueueState>
  checkQueue(name: string): Promise<QueueState>
  checkExchange(name: string): Promise<unknown>
  bindQueue(queue: string, exchange: string, key: string): Promise<unknown>
  prefetch(count: number): Promise<unknown>
  consume(queue: string, take: (message: Message | null) => void): Promise<{ consumerTag: string }>
  cancel(consumerTag: string): Promise<unknown>
  ack(message: Tagged, upTo: boolean): void
  nack(message: Tagged, upTo: boolean, requeue: boolean): void
  nackAll(requeue: boolean): void
  close(): Promise<void>
  on(event: 'close' | 'drain', listener: () => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'return', listener: (message: Message) => void): unknown
}

export interface ConfirmChannel extends Channel {
  publish(
    exchange: string,
    key: string,
    body: Buffer,
    options: PublishOptions,
    confirmed: (error: Error | null) => void,
  ): boolean
}

export interface ExchangeOptions {
  readonly durable: boolean
  readonly arguments?: Readonly<Record<string, unknown>>
}

export interface QueueOptions {
  readonly durable: boolean
  readonly autoDelete?: boolean
  readonly arguments: Readonly<Record<string, string | number | boolean>>
}

interface QueueState {
  readonly messageCount: number
}

interface Tagged {
  readonly fields: { readonly deliveryTag: number }
}

export interface PublishOptions {
  readonly mandatory: true
  readonly persistent: true
  readonly contentType?: string
  readonly messageId?: string
  readonly headers: Readonly<Record<string, string>>
}

export interface Message {
  readonly content: Buffer
  readonly fields: {
    readonly deliveryTag: number
    readonly redelivered: boolean
    readonly exchange: string
    readonly routingKey: string
  }
  readonly properties: Properties
}

export interface Properties {
  readonly contentType?: string | undefined
  readonly headers?: Readonly<Record<string, unknown>> | undefined
  readonly messageId?: string | undefined
  readonly correlationId?: string | undefined
  /** Seconds since the epoch. */
  readonly timestamp?: number | undefined
  readonly type?: string | undefined
  readonly appId?: string | undefined
}

/** The server's own words, without the client's before them. */
export const saidIn = ({ message }: Error): string => message.replace(/^.*with message "(.*)"$/s, '$1')

/** What the client throws when the server closes a channel or connection. */
export const replyCode = (error: unknown): number | undefined => {
  const code = (error as { code?: unknown } | undefined)?.code
  return typeof code === 'number' ? code : undefined
}

/** A queue whose node is down is not found either, and is not gone. */
export const isDown = (text: string): boolean => text.includes('down or inaccessible')

/**
 * Closing what the other side has closed already is no mistake. Where the other side dies during the good-bye the client
 * never answers the call, and only tells that it is closed.
 */
export const closeQuietly = async (what: Closable): Promise<void> => {
  const { promise: gone, resolve } = Promise.withResolvers<void>()
  what.on('close', () => resolve())
  try {
    await Promise.race([what.close(), gone])
  } catch {
    // closed already
  }
}

export interface Closable {
  close(): Promise<void>
  on(event: 'close', listener: () => void): unknown
}

export const loadClient = async (load: () => Promise<unknown> = () => import('amqplib')): Promise<Client> => {
  try {
    return (await load()) as Client
  } catch (cause) {
    throw new ReprieveError('client_missing', 'RabbitMQ needs the package amqplib, which is not installed', {
      fix: 'npm install amqplib@2',
      cause,
    })
  }
}
