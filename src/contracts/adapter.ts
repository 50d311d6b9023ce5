import type { Store } from './store.ts'
import type { Tools } from './tools.ts'
import type { Transport } from './transport.ts'

/**
 * What a URL opens: a transport, a store, or both. Where both are there they share one connection, which closes with
 * the last of them.
 */
export interface Opened {
  readonly transport?: Transport
  readonly store?: Store
}

/** The one export the rest of the house knows of an adapter. */
export type Open = (url: string, tools: Tools) => Promise<Opened>
