import type { Message, Properties } from './client.ts'

/**
 * Of a message at a subscription, what is read there, in objects of our own. Those of the client are made by literals: where
 * a window full of them had to wait once, the engine takes all that follow for long-lived, and each of them stays, with
 * what it holds, until a full collection.
 */
export const arrived = (message: Message): Message => new Arrived(message)

class Arrived implements Message {
  readonly content: Buffer
  readonly fields: Message['fields']
  readonly properties: Properties

  constructor({ content, fields, properties }: Message) {
    this.content = content
    this.fields = new Fields(fields)
    this.properties = new Read(properties)
  }
}

class Fields {
  readonly deliveryTag: number
  readonly redelivered: boolean
  readonly exchange: string
  readonly routingKey: string

  constructor({ deliveryTag, redelivered, exchange, routingKey }: Message['fields']) {
    this.deliveryTag = deliveryTag
    this.redelivered = redelivered
    this.exchange = exchange
    this.routingKey = routingKey
  }
}

class Read implements Properties {
  readonly contentType: Properties['contentType']
  readonly headers: Properties['headers']
  readonly messageId: Properties['messageId']
  readonly correlationId: Properties['correlationId']
  readonly timestamp: Properties['timestamp']

  constructor({ contentType, headers, messageId, correlationId, timestamp }: Properties) {
    this.contentType = contentType
    this.headers = headers
    this.messageId = messageId
    this.correlationId = correlationId
    this.timestamp = timestamp
  }
}
