/** How a failure should be treated: see `classify`. */
export type Category = 'transient' | 'rate-limited' | 'permanent' | 'unknown'

export const CATEGORIES: readonly Category[] = ['transient', 'rate-limited', 'permanent', 'unknown']

/**
 * What failed, for routing, filters and groups.
 *
 *   schema        the record or its data can't be decoded or does not fit its schema
 *   business      the handler refused: a rule of the business
 *   integration   a dependency failed
 *   timeout       it took too long
 *   auth          not allowed
 *   crash         the process died on it
 *   expired       too late to be worth handling
 *   handler       the handler threw something that tells no more
 */
export const KINDS = [
  'schema',
  'business',
  'integration',
  'timeout',
  'auth',
  'crash',
  'expired',
  'handler',
] as const

export type Kind = (typeof KINDS)[number]

/** A classified error: plain data, so that it can travel in a trail. */
export interface Failure {
  readonly category: Category
  readonly kind: Kind
  /** The error's class or name, e.g. `TypeError`. */
  readonly name: string
  readonly message: string
  readonly code?: string
  readonly status?: number
  readonly stack?: string | undefined
  /** How long the other side asked us to wait, in milliseconds. */
  readonly retryAfter?: number
  /** Which rule of the tree or which override decided, in words. */
  readonly because: string
}
