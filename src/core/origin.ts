import type { Json } from './json.ts'

/** Where a message that someone else wrote came from, and so can be sent back to. */
export interface Origin {
  /** For people: the exchange and key, the queue, the topic. */
  readonly to: string
  /** For the transport that read it: all it needs to send the message there just as it was. */
  readonly address: Json
}

/** It can't be sent back: why. */
export interface Nowhere {
  readonly nowhere: string
}
