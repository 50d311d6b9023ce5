import type { Clock } from '../contracts/tools.ts'
import type { Permit, Refusal } from '../core/breaker.ts'
import {
  hasLease,
  isDue,
  type Lease,
  leaseOf,
  type Shared,
  type SharedSignal,
} from '../core/shared-breaker.ts'
import type { Instant, Millis } from '../core/time.ts'
import type { Guard } from './guard.ts'

/** One process's place at a breaker that several share: what it heard of the others, and what it has to tell them. */
export interface Seat {
  /** As calls meet it. */
  readonly guard: Guard
  readonly processes: number
  /** Not told yet, oldest first. */
  readonly untold: SharedSignal[]
  /** Somebody waits for a probe, and there is no lease in hand. */
  readonly wants: boolean
  /** How the whole stands; undefined: nobody knows anything of it. */
  hear(shared: Shared | undefined, processes: number): void
  /** A trip of this process was put down in that round. */
  tripHeard(round: number): void
  /** What became of its wish. */
  answer(lease: Lease | undefined): void
  /** Gives back leases that nobody used; `all`: at once. */
  tidy(all?: boolean): void
}

/** Without word from the board for so long each goes by its own evidence. */
export const STALE: Millis = 5000
/** When it is worth asking again for a lease that others have; and well before one's own is over. */
const SOON: Millis = 1000
const PART = 1 / 4
/** A lease for which no call came is left to others. */
const UNUSED: Millis = 3000

/** `stir`: there is something to tell or to ask. Nothing here waits for the board. */
export const createSeat = (
  own: Guard,
  process: string,
  clock: Pick<Clock, 'now'>,
  stir: () => void,
): Seat => {
  let untold: SharedSignal[] = []
  let leases: (Lease & { readonly since: Instant })[] = []
  const used = new Map<Permit, string>()
  let whole: Shared | undefined
  let processes = 1
  let heardAt = Number.NEGATIVE_INFINITY
  let round = 0
  /** It opened by its own evidence. */
  let tripped = false
  let wants = false
  let mayWantAt = Number.NEGATIVE_INFINITY
  let refused = 0

  /** Whether the next call is a probe that needs a lease: where others look on, and the whole is not closed. */
  const needsLease = (now: Instant): boolean => {
    const { state } = own
    if (whole === undefined || whole.is === 'closed' || processes < 2 || now - heardAt >= STALE) return false
    return state.is === 'half-open' || (state.is === 'open' && state.until <= now)
  }

  const tell = (signal: SharedSignal): void => {
    // of what it knows by itself only the last counts
    const isOwn = ({ is }: SharedSignal) => is === 'trip' || is === 'well'
    if (isOwn(signal)) untold = untold.filter((each) => !isOwn(each))
    untold.push(signal)
    stir()
  }

  const want = (now: Instant): Refusal => {
    if (now >= mayWantAt) {
      mayWantAt = now + SOON / 2
      wants = true
      stir()
    }
    return { because: 'probing', retryAt: now + Math.min(SOON, leaseOf(own.rules) * PART) }
  }

  const tidyLeases = (now: Instant): void => {
    leases = leases.filter(({ until }) => until > now)
  }

  /** Ends a call and tells what it did to the breaker. */
  const ended = (permit: Permit, as: 'success' | 'failure' | 'ignore'): void => {
    const before = own.state.is
    own[as](permit)
    const { state } = own
    if (before === 'closed' && state.is === 'closed') return
    const lease = used.get(permit)
    used.delete(permit)
    const until = state.is === 'open' ? state.until : clock.now()
    const opened = before !== 'open' && state.is === 'open'
    if (opened) tripped = true
    if (before === 'half-open' && state.is === 'closed') tripped = false
    if (lease === undefined) {
      if (opened) tell({ is: 'trip', process, until })
      if (before === 'half-open' && state.is === 'closed') tell({ is: 'well', process })
    } else if (as === 'failure') tell({ is: 'failure', lease, until })
    else tell({ is: as === 'success' ? 'success' : 'let go', lease })
  }

  const follow = (shared: Shared, behind: boolean, now: Instant): void => {
    const { state } = own
    if (shared.is === 'closed') {
      if (behind && state.is !== 'closed') own.follow({ is: 'closed' })
    } else if (isDue(shared, now)) {
      // who is open already, or tries by itself, is where it should be
      if (state.is === 'closed' || shared.is === 'half-open') own.follow({ is: 'half-open' })
    } else if (shared.is === 'open' && !(state.is === 'open' && state.until === shared.until)) {
      own.follow({ is: 'open', since: Math.min(shared.since, now), until: shared.until })
    }
  }

  const guard: Guard = {
    name: own.name,
    rules: own.rules,
    get state() {
      return own.state
    },
    get since() {
      return own.since
    },
    get counts() {
      const counts = own.counts
      return { ...counts, rejections: counts.rejections + refused }
    },
    ask: () => {
      if (own.state.is === 'closed') return own.ask()
      const now = clock.now()
      if (!needsLease(now)) return own.ask()
      tidyLeases(now)
      const lease = leases.shift()
      if (!lease) {
        refused++
        return want(now)
      }
      const asked = own.ask()
      if (typeof asked === 'number') used.set(asked, lease.id)
      else leases.unshift(lease)
      return asked
    },
    peek: () => {
      if (own.state.is === 'closed') return undefined
      const now = clock.now()
      if (!needsLease(now)) return own.peek()
      tidyLeases(now)
      return leases.length > 0 ? own.peek() : want(now)
    },
    success: (permit) => ended(permit, 'success'),
    failure: (permit) => ended(permit, 'failure'),
    ignore: (permit) => ended(permit, 'ignore'),
    forceOpen: own.forceOpen,
    forceClosed: own.forceClosed,
    release: own.release,
    follow: own.follow,
    toJSON: own.toJSON,
  }

  return {
    guard,
    get processes() {
      return processes
    },
    get untold() {
      return untold
    },
    get wants() {
      return wants
    },
    hear: (shared, others) => {
      const now = clock.now()
      processes = Math.max(1, others)
      heardAt = now
      if (untold.length > 0) return
      whole = shared
      const { state } = own
      if (!shared) {
        // the board has forgotten it: what this process has seen still holds
        round = 0
        if (state.is === 'closed') tripped = false
        if (tripped && state.is === 'open') tell({ is: 'trip', process, until: state.until })
        return
      }
      // what the whole has taken back is worth nothing
      leases = leases.filter(({ id }) => hasLease(shared, id))
      const behind = shared.round > round
      round = shared.round
      follow(shared, behind, now)
      if (own.state.is === 'closed') tripped = false
    },
    tripHeard: (at) => {
      round = at
    },
    answer: (lease) => {
      wants = false
      if (lease) leases.push({ ...lease, since: clock.now() })
    },
    tidy: (all = false) => {
      const now = clock.now()
      const idle = leases.filter(({ since }) => all || now - since >= UNUSED)
      leases = leases.filter((lease) => !idle.includes(lease))
      if (idle.length > 0) mayWantAt = now + UNUSED
      for (const { id } of idle) untold.push({ is: 'let go', lease: id })
    },
  }
}
