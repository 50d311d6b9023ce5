import type { Json } from './json.ts'
import type { Instant, Millis } from './time.ts'

/** What operators have ordered and what guards are in, as entries of the board: the names and shapes both sides agree on. */

export const PAUSES = 'order/pause/'
export const FORCES = 'order/breaker/'
export const MENDED = 'order/mended/'
export const GUARDS = 'guard/'
export const SERVICES = 'service/'

export const pauseEntry = (service: string): string => `${PAUSES}${service}`
export const forceEntry = (name: string): string => `${FORCES}${name}`
export const mendedEntry = (service: string, type: string): string => `${MENDED}${service}/${type}`
export const guardEntry = (name: string, process: string): string => `${GUARDS}${process}/${name}`
export const serviceEntry = (name: string, process: string): string => `${SERVICES}${process}/${name}`

/** How long an order holds, unless told: nobody should find a service asleep and not know why. */
export const ORDER_LASTS: Millis = 24 * 60 * 60 * 1000

export interface Order {
  readonly by: string
  readonly at: Instant
}

/** So long it is known that a handler was mended: whoever counts looks every second. */
export const MENDED_LASTS: Millis = 10 * 60 * 1000

/** Somebody let a letter of such an event out of quarantine: what the service counted against its handler is forgotten. */
export interface Mended {
  readonly service: string
  readonly type: string
  readonly at: Instant
}

export interface Force extends Order {
  readonly to: 'open' | 'closed'
}

/** How a guard of one process stands. */
export interface GuardReport {
  readonly name: string
  readonly process: string
  readonly state: string
  /** Since when it stands so. */
  readonly since: Instant
  /** So many processes open all. */
  readonly quorum: number
  readonly calls: number
  readonly successes: number
  readonly failures: number
  readonly rejections: number
  readonly transitions: number
}

/** Entries may be anybody's: what is not of the right shape is no order. */
export const readForce = (value: Json): Force | undefined => {
  const { to, by, at } = fields(value)
  return (to === 'open' || to === 'closed') && typeof by === 'string' && typeof at === 'number'
    ? { to, by, at }
    : undefined
}

export const readOrder = (value: Json): Order | undefined => {
  const { by, at } = fields(value)
  return typeof by === 'string' && typeof at === 'number' ? { by, at } : undefined
}

export const readMended = (value: Json): Mended | undefined => {
  const { service, type, at } = fields(value)
  return typeof service === 'string' && typeof type === 'string' && typeof at === 'number'
    ? { service, type, at }
    : undefined
}

export const readGuard = (value: Json): GuardReport | undefined => {
  const { name, process, state, since, quorum, calls, successes, failures, rejections, transitions } =
    fields(value)
  return typeof name === 'string' &&
    typeof process === 'string' &&
    typeof state === 'string' &&
    typeof since === 'number' &&
    typeof quorum === 'number' &&
    typeof calls === 'number' &&
    typeof successes === 'number' &&
    typeof failures === 'number' &&
    typeof rejections === 'number' &&
    typeof transitions === 'number'
    ? { name, process, state, since, quorum, calls, successes, failures, rejections, transitions }
    : undefined
}

const fields = (value: Json): Readonly<Record<string, Json | undefined>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, Json>>)
    : {}
