import type { Category, Kind } from './failure.ts'
import { describeIssues, type Issue } from './issues.ts'

/**
 * Errors for handlers to throw when they know what the failure means.
 *
 *   Transient     try again by the policy          Permanent      never try again
 *   Timeout       the same, it took too long       Invalid        the data does not fit
 *   RateLimited   not before `retryAfter`          BusinessRule   a rule of the business refused
 *   Throttled     the same, a minute unless told   NotAllowed     credentials or rights are missing
 *
 * Which of them says what:
 *
 *   service unavailable     Transient              invalid message           Invalid
 *   network timeout         Timeout                validation                Invalid with `issues`
 *   rate limit              RateLimited            authentication            NotAllowed
 *   provider throttling     Throttled              authorisation             NotAllowed
 *   transient database      Transient              permanent service error   Permanent
 *                                                  a rule of the business    BusinessRule
 */

/** The brand by which they are known: a registered symbol, so that two copies of the package agree. */
export const FAILURE: unique symbol = Symbol.for('reprieve.failure')

/** What the brand holds. */
export interface Told {
  readonly category: Category
  readonly kind: Kind
  /** In milliseconds. */
  readonly retryAfter?: number | undefined
}

export interface TypedErrorOptions {
  readonly cause?: unknown
  /** A stable word for programs, filters and overrides. */
  readonly code?: string
  /** Where the class's own kind does not fit. */
  readonly kind?: Kind
}

export interface RateLimitedOptions extends TypedErrorOptions {
  /** How long the other side asks us to wait, in milliseconds. */
  readonly retryAfter?: number
}

export interface InvalidOptions extends TypedErrorOptions {
  /** What a Standard Schema found; told in the message, path by path. */
  readonly issues?: readonly Issue[]
}

class TypedError extends Error {
  declare readonly [FAILURE]: Told
  readonly code: string | undefined

  constructor(name: string, told: Told, message: string, options: TypedErrorOptions) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.name = name
    this.code = options.code
    // Not enumerable: the brand should not clutter printed errors.
    Object.defineProperty(this, FAILURE, { value: { ...told, kind: options.kind ?? told.kind } })
  }
}

export class Transient extends TypedError {
  constructor(message: string, options: TypedErrorOptions = {}) {
    super('Transient', { category: 'transient', kind: 'integration' }, message, options)
  }
}

export class Timeout extends TypedError {
  constructor(message: string, options: TypedErrorOptions = {}) {
    super('Timeout', { category: 'transient', kind: 'timeout' }, message, options)
  }
}

export class RateLimited extends TypedError {
  constructor(message: string, options: RateLimitedOptions = {}) {
    const { retryAfter } = options
    super('RateLimited', { category: 'rate-limited', kind: 'integration', retryAfter }, message, options)
  }
}

const PROVIDER_PAUSE = 60_000

export class Throttled extends TypedError {
  constructor(message: string, options: RateLimitedOptions = {}) {
    const { retryAfter = PROVIDER_PAUSE } = options
    super('Throttled', { category: 'rate-limited', kind: 'integration', retryAfter }, message, options)
  }
}

export class Permanent extends TypedError {
  constructor(message: string, options: TypedErrorOptions = {}) {
    super('Permanent', { category: 'permanent', kind: 'handler' }, message, options)
  }
}

export class Invalid extends TypedError {
  readonly issues: readonly Issue[]

  constructor(message: string, options: InvalidOptions = {}) {
    const { issues = [] } = options
    const told: Told = { category: 'permanent', kind: 'schema' }
    super('Invalid', told, issues.length ? `${message}: ${describeIssues(issues)}` : message, options)
    this.issues = issues
  }
}

export class BusinessRule extends TypedError {
  constructor(message: string, options: TypedErrorOptions = {}) {
    super('BusinessRule', { category: 'permanent', kind: 'business' }, message, options)
  }
}

export class NotAllowed extends TypedError {
  constructor(message: string, options: TypedErrorOptions = {}) {
    super('NotAllowed', { category: 'permanent', kind: 'auth' }, message, options)
  }
}
