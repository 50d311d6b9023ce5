import type { ReprieveError } from '../core/error.ts'
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

/**
 * Of a store that keeps an audit: why there is none at this URL, where nothing of ours is there yet. It looks and makes
 * nothing, for a place that was made just now would be found intact.
 */
export type WhyNoAudit = (url: string, tools: Tools) => Promise<NoAudit | undefined>

/** new: who opens it makes all that is missing · theirs: it has tables, all of them of others · unfit: it can't be opened */
export type NoAudit =
  | { readonly is: 'new' | 'theirs'; readonly what: string; readonly fix: string }
  | { readonly is: 'unfit'; readonly error: ReprieveError }
