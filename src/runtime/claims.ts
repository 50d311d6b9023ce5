import type { Ledger } from '../contracts/ledger.ts'
import type { Tools } from '../contracts/tools.ts'
import type { Delivery } from '../contracts/transport.ts'
import { payloadHash } from '../core/event.ts'
import { ledgerIdOf } from '../core/idempotency-key.ts'
import { type Claim, type Held, type LedgerKey, REPAIRED } from '../core/ledger.ts'
import type { Parcel } from '../core/parcel.ts'
import type { Instant } from '../core/time.ts'
import type { Rules } from '../rules/index.ts'

/**
 * Which claim a delivery needs. Dedup claims always; the other patterns only what was handed over or tried before,
 * to find the event that kills its process; `none` never.
 */
export const ledgerKeyOf = (
  rules: Rules,
  parcel: Parcel,
  redelivered: boolean,
  named: ReadonlySet<string>,
): LedgerKey | undefined => {
  const { pattern, store } = rules.idempotency
  if (pattern === 'none' || (pattern !== 'dedup' && !redelivered && parcel.trail.spent === 0))
    return undefined
  const wanted = keyOf(rules, parcel)
  return named.has(store) ? { ...wanted, store } : wanted
}

/** What the ledger knows the event by, in this service and at this attempt. */
export const keyOf = (rules: Rules, { event, trail }: Parcel): LedgerKey => {
  const { key, ttl } = rules.idempotency
  return {
    service: rules.service,
    id: ledgerIdOf(key, event),
    hash: trail.replay?.repaired ? REPAIRED : payloadHash(event.data),
    attempt: trail.spent + 1,
    generation: trail.generation,
    ttl,
  }
}

/**
 * Claims for the deliveries of a transport that keeps no ledger itself. While the ledger can't be reached nothing
 * is processed and nothing acknowledged: it is asked again until it answers or the service stops.
 */
export const claimAll = async (
  ledger: Ledger,
  keys: readonly (LedgerKey | undefined)[],
  until: () => Instant,
  { clock, journal }: Tools,
  stop: AbortSignal,
): Promise<readonly (Claim | undefined)[] | undefined> => {
  const places = newestFirst(keys)
  const wanted = places.map((at) => keys[at]!)
  const all: (Claim | undefined)[] = new Array(keys.length).fill(undefined)
  if (wanted.length === 0) return all
  for (let pause = 100; !stop.aborted; pause = Math.min(pause * 2, 5000)) {
    try {
      const claims = await ledger.claim(wanted, until())
      for (let i = 0; i < places.length; i++) all[places[i]!] = claims[i]
      return all
    } catch (error) {
      journal({ at: clock.now(), is: 'trouble', where: 'the ledger', error: error as Error, retryIn: pause })
      await clock.sleep(pause, stop)
    }
  }
  return undefined
}

/**
 * Where the keys are. Of an event that comes beside its own copy, whose confirmation was never heard, the copy is the
 * later attempt: claimed first, it makes the original stale; the other way round both would run.
 */
const newestFirst = (keys: readonly (LedgerKey | undefined)[]): readonly number[] => {
  const places: number[] = []
  let mixed = false
  for (let at = 0; at < keys.length; at++) {
    const key = keys[at]
    if (!key) continue
    const first = keys[places[0] ?? at]!
    mixed ||= key.attempt !== first.attempt || key.generation !== first.generation
    places.push(at)
  }
  if (!mixed) return places
  return places.sort(
    (a, b) => keys[b]!.generation - keys[a]!.generation || keys[b]!.attempt - keys[a]!.attempt || a - b,
  )
}

export const claimed = (delivery: Delivery, claim: Claim | undefined): Delivery =>
  claim ? Object.assign(delivery, { claim }) : delivery

export const heldBy = ({ claim }: Delivery): readonly Held[] => (claim?.is === 'fresh' ? [claim.held] : [])

/** Its process died while it was out, once at least. */
export const isSuspect = ({ claim }: Delivery): boolean => claim?.is === 'fresh' && claim.crashes > 0
