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
  readonly code: string | undefined
  readonly #told: Told
  readonly #name: string

  constructor(name: string, told: Told, message: string, options: TypedErrorOptions) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.name = name
    this.code = options.code
    this.#name = name
    this.#told = options.kind === undefined ? told : { ...told, kind: options.kind }
  }

  /** Not on the error itself: the brand should not clutter printed errors. */
  get [FAILURE](): Told {
    return this.#told
  }

  /**
   * What it tells where that is all: by its class and its message, as most do. Then nothing else need be looked for on
   * it, and looking takes longer than all else that is done about a failure.
   */
  static whole(error: unknown): Told | undefined {
    if (typeof error !== 'object' || error === null || !(#told in error)) return undefined
    if (!PLAIN.has(error.#told) || Reflect.ownKeys(error).length !== OWN_KEYS) return undefined
    if (Object.getPrototypeOf(Object.getPrototypeOf(error)) !== TypedError.prototype) return undefined
    try {
      const { name, message, code } = error
      const usual =
        name === error.#name && typeof message === 'string' && message !== '' && code === undefined
      return usual ? error.#told : undefined
    } catch {
      return undefined // somebody put a getter in its place
    }
  }
}

/** stack, message, name and code. */
const OWN_KEYS = 4

const TRANSIENT: Told = { category: 'transient', kind: 'integration' }
const TIMEOUT: Told = { category: 'transient', kind: 'timeout' }
const PERMANENT: Told = { category: 'permanent', kind: 'handler' }
const BUSINESS: Told = { category: 'permanent', kind: 'business' }
const NOT_ALLOWED: Told = { category: 'permanent', kind: 'auth' }
const PLAIN: ReadonlySet<Told> = new Set([TRANSIENT, TIMEOUT, PERMANENT, BUSINESS, NOT_ALLOWED])

export const toldWhole = TypedError.whole

export class Transient extends TypedError {
  constructor(message: string, options: TypedErrorOptions = {}) {
    super('Transient', TRANSIENT, message, options)
  }
}

export class Timeout extends TypedError {
  constructor(message: string, options: TypedErrorOptions = {}) {
    super('Timeout', TIMEOUT, message, options)
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
    super('Permanent', PERMANENT, message, options)
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
    super('BusinessRule', BUSINESS, message, options)
  }
}

export class NotAllowed extends TypedError {
  constructor(message: string, options: TypedErrorOptions = {}) {
    super('NotAllowed', NOT_ALLOWED, message, options)
  }
}
