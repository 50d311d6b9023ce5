/** The whole public surface of Reprieve. */
export type { Fact, Journal } from './contracts/journal.ts'
export type { KeptLetter, LetterFilter, LetterState } from './contracts/letters.ts'
export type { Clock, Dice } from './contracts/tools.ts'
export { classify, type Override } from './core/classify.ts'
export { type ErrorCode, ReprieveError } from './core/error.ts'
export { BusinessRule, Invalid, Permanent, RateLimited, Timeout, Transient } from './core/errors.ts'
export type { Event, Priority } from './core/event.ts'
export type { Category, Failure, Kind } from './core/failure.ts'
export type { DeathReason, Letter, Receipt } from './core/letter.ts'
export type { Policy } from './core/policy.ts'
export type { Trail } from './core/trail.ts'
export type { Office, ReplayResult } from './office/index.ts'
export { type Options, type Reprieve, reprieve } from './reprieve.ts'
export type { Service } from './runtime/app.ts'
export {
  type Answer,
  type Context,
  dead,
  type Handled,
  type Handler,
  later,
  type PublishOptions,
  type Schema,
} from './runtime/handler.ts'
