import type { Ledger } from '../contracts/ledger.ts'
import type { Tools } from '../contracts/tools.ts'
import type { Delivery, Inlet } from '../contracts/transport.ts'
import type { Held } from '../core/ledger.ts'
import type { Instant, Millis } from '../core/time.ts'
import type { Bag } from './bag.ts'
import { heldBy, isSuspect } from './claims.ts'

/** Of a door, what is kept ours. */
export interface KeptDoor {
  readonly subscription: { readonly lease: Millis }
  readonly inlet: Inlet
  readonly ledger: Ledger | undefined
  readonly out: Bag<Delivery>
  /** When all that was out was last known to be kept. */
  kept: Instant
}

/**
 * Keeps what is out ours: leases and claims are shorter than the longest handler. A process that stood still for longer
 * than they last, or could not reach its store, is taken for dead: others take what it had, and a crash is counted. When
 * it goes on it says so first of all: what it did not die of is not to blame.
 */
export interface Keeping {
  /** Until the signal aborts. */
  keep(door: KeptDoor, closed: AbortSignal): Promise<void>
  /** To be awaited before anything is taken: what others took from us meanwhile is not to be blamed by us. */
  catchUp(door: KeptDoor): Promise<void> | undefined
  /**
   * Of what was received, the suspects that were claimed for us while we stood still: what is counted against them may be
   * that we were taken for dead. It is said first that we live.
   */
  doubted(door: KeptDoor, deliveries: readonly Delivery[]): Promise<readonly Delivery[]>
  /** Before a suspect is run: marks its claim, and answers whether it is still ours. */
  begin(held: Held): Promise<boolean>
  /** It was taken from us, and we live. Never rejects. */
  lost(delivery: Delivery): Promise<void>
}

export const createKeeping = (name: string, ledger: Ledger, { clock, journal }: Tools): Keeping => {
  const begun = new WeakSet<Held>()
  const acquitted = new WeakSet<Held>()

  const trouble = (where: string, error: unknown): void =>
    journal({ at: clock.now(), is: 'trouble', where, error: error as Error })

  /** A crash is counted only of what was beyond suspicion, or begun; and each is taken back once. */
  const isCounted = ({ claim }: Delivery): boolean =>
    claim?.is === 'fresh' && !acquitted.has(claim.held) && (claim.crashes === 0 || begun.has(claim.held))

  const acquit = async (deliveries: readonly Delivery[]): Promise<void> => {
    const held = deliveries.filter(isCounted).flatMap(heldBy)
    if (held.length === 0) return
    for (const each of held) acquitted.add(each)
    let answers: readonly boolean[] = []
    try {
      answers = await ledger.acquit(held)
    } catch (error) {
      trouble('the ledger', error)
    }
    for (const [i, each] of held.entries()) if (!answers[i]) acquitted.delete(each)
  }

  const keepNow = async (door: KeptDoor): Promise<void> => {
    const { inlet, out } = door
    const now = clock.now()
    const late = isLate(door, now)
    const deliveries = out.values()
    if (deliveries.length > 0) {
      const until = now + door.subscription.lease
      try {
        await inlet.extend(deliveries, until)
        await door.ledger?.renew(deliveries.flatMap(heldBy), until)
      } catch (error) {
        return trouble(`keeping deliveries of ${name}`, error)
      }
      if (late) await acquit(deliveries)
    }
    door.kept = now
  }

  return {
    keep: async (door, closed) => {
      for (;;) {
        await clock.sleep(door.subscription.lease / 3, closed)
        if (closed.aborted) return
        await keepNow(door)
      }
    },
    catchUp: (door) => (isLate(door, clock.now()) ? keepNow(door) : undefined),
    doubted: async (door, deliveries) => {
      if (!isLate(door, clock.now())) return []
      await keepNow(door)
      return deliveries.filter(isSuspect)
    },
    begin: (held) => {
      begun.add(held)
      return ledger.begin(held)
    },
    lost: (delivery) => acquit([delivery]),
  }
}

const isLate = ({ kept, subscription }: KeptDoor, now: Instant): boolean => now - kept >= subscription.lease
