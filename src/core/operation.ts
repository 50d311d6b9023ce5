import type { Json } from './json.ts'
import type { LetterState } from './letter.ts'
import type { Instant, Millis } from './time.ts'

/**
 * Work on a frozen set of letters, as plain data. What may follow what:
 *
 *   freezing ──▶ frozen ───────────────────────┬──▶ canary ──▶ watching ──▶ ramp ──▶ following ──▶ done
 *            └─▶ needs approval ──▶ approved ──┘                  └──▶ stopped (by itself)
 *
 * Without canaries it goes on to ramp at once; a purge has nothing to follow. What lives can be cancelled, and paused,
 * which is no state of its own: it goes on where it was.
 */
export const OPERATION_STATES = [
  ...([
    'freezing',
    'frozen',
    'needs approval',
    'approved',
    'canary',
    'watching',
    'ramp',
    'following',
  ] as const),
  ...(['done', 'stopped', 'cancelled'] as const),
] as const
export type OperationState = (typeof OPERATION_STATES)[number]
export type OperationKind = 'replay' | 'purge'

const FOLLOWS: Readonly<Record<OperationState, readonly OperationState[]>> = {
  freezing: ['frozen', 'needs approval', 'cancelled'],
  frozen: ['canary', 'ramp', 'cancelled'],
  'needs approval': ['approved', 'cancelled'],
  approved: ['canary', 'ramp', 'cancelled'],
  canary: ['watching', 'cancelled'],
  watching: ['ramp', 'stopped', 'cancelled'],
  ramp: ['following', 'done', 'cancelled'],
  following: ['done', 'cancelled'],
  done: [],
  stopped: [],
  cancelled: [],
}

export const mayFollow = (from: OperationState, to: OperationState): boolean => FOLLOWS[from].includes(to)

/** Its letters are in no other operation. */
export const isLive = (state: OperationState): boolean => FOLLOWS[state].length > 0

/** Somebody is to work on it. */
export const isUnderWay = (state: OperationState): boolean => UNDER_WAY.has(state)
const UNDER_WAY: ReadonlySet<OperationState> = new Set([
  ...(['approved', 'canary', 'watching', 'ramp', 'following'] as const),
])

/**
 * waiting → sending → sent → resolved | dead again, and sending → failed where it can't be sent at all; waiting →
 * purged; or skipped, with the reason. An item that is 'sending' may have been sent: who finds it so sends it again.
 */
export const ITEM_STATES = [
  ...(['waiting', 'skipped', 'sending', 'sent'] as const),
  ...(['resolved', 'dead again', 'purged', 'failed'] as const),
] as const
export type ItemState = (typeof ITEM_STATES)[number]

/** Why a letter of the set is not worked on. 'needs approval' ends with the approval. */
export const SKIPS = [
  ...(['unknown letter', 'in another operation', 'already done', 'on its way', 'quarantined'] as const),
  ...(['redacted', 'nowhere to go', 'changed since'] as const),
  ...(['needs approval', 'invalid schema', 'expired', 'downstream unhealthy', 're-entry limit'] as const),
] as const
export type Skip = (typeof SKIPS)[number]

/** What an operator may do although it speaks against it. */
export const OVERRIDES = [
  ...(['already done', 'on its way', 'invalid schema', 'expired'] as const),
  ...(['downstream unhealthy', 're-entry limit'] as const),
] as const
export type Override = (typeof OVERRIDES)[number]

export interface Canary {
  /** So many go first. */
  readonly size: number
  /** How long they may take to be back. */
  readonly wait: Millis
  /** More than this share of them dead again stops the operation. From 0 to 1. */
  readonly deaths: number
}

/** How it is to be done. */
export interface Plan {
  readonly canary?: Canary
  /** So many letters in one step. */
  readonly batch: number
  /** Letters a second; absent: as fast as it goes. */
  readonly rate?: number
  /** Absent: the subscription that failed. */
  readonly to?: Target
  readonly although: readonly Override[]
}

/** Anew, to all that are subscribed to the letter's topic; or to another service that is. */
export type Target = 'topic' | { readonly service: string }

export interface Approval {
  readonly by: string
  readonly at: Instant
  /** Of the set that was approved. */
  readonly hash: string
}

export interface Operation {
  readonly id: string
  readonly kind: OperationKind
  readonly state: OperationState
  /** Since when it stands so. */
  readonly since: Instant
  readonly paused?: { readonly by: string; readonly at: Instant; readonly because?: string }
  /** Who asked for it, when and why. */
  readonly by: string
  readonly at: Instant
  readonly reason?: string
  /** By what the letters were chosen, for people. */
  readonly chosen: Json
  readonly plan: Plan
  /** SHA-256 over the set in order, a line each: the letter's id, and which version of it. Absent while it is being frozen. */
  readonly hash?: string
  /** How many of its letters were in which state when it was frozen. */
  readonly found?: Readonly<Partial<Record<LetterState | 'unknown', number>>>
  /** Its letters were named one by one: they re-enter as often as they are named. */
  readonly named?: boolean
  /** From when on it goes at its pace, and how many had left before: canaries, and what went before a pause. */
  readonly pace?: { readonly at: Instant; readonly left: number }
  /** What is not begun by then is cancelled. */
  readonly until?: Instant
  readonly approval?: Approval
  /** Why it was stopped or cancelled. */
  readonly because?: string
}

/** How many items are in each state. */
export type ItemCounts = Readonly<Record<ItemState, number>>

export const NO_ITEMS: ItemCounts = Object.fromEntries(
  ITEM_STATES.map((state) => [state, 0]),
) as ItemCounts & {}

export const paceFrom = (counts: ItemCounts, at: Instant): NonNullable<Operation['pace']> => ({
  at,
  left: lettersIn(counts) - counts.waiting,
})

/** How many letters it is about: those it passes by are none of them. */
export const lettersIn = (counts: ItemCounts): number =>
  ITEM_STATES.reduce((sum, state) => (state === 'skipped' ? sum : sum + counts[state]), 0)

/** What is to be done next by whoever works on it. */
export type Step =
  | { readonly do: 'send'; readonly most: number }
  | { readonly do: 'become'; readonly state: OperationState; readonly because?: string }
  | { readonly do: 'pause'; readonly because: string }
  /** Nothing before then; without a moment until something is heard. */
  | { readonly do: 'wait'; readonly until?: Instant }

export const nextStep = (operation: Operation, counts: ItemCounts, now: Instant): Step => {
  const { state, plan, kind, paused } = operation
  if (paused || !isUnderWay(state)) return { do: 'wait' }
  const onTheWay = counts.sending + counts.sent
  const left = counts.waiting
  switch (state) {
    case 'approved':
      return operation.until !== undefined && operation.until <= now
        ? { do: 'become', state: 'cancelled', because: 'its approval has expired' }
        : { do: 'become', state: firstOf(operation) }
    case 'canary': {
      const most = Math.min(plan.canary!.size - tried(counts), plan.batch, left)
      return most > 0 ? { do: 'send', most } : { do: 'become', state: 'watching' }
    }
    case 'watching':
      return watch(operation, counts, now)
    case 'ramp':
      if (left > 0) return { do: 'send', most: Math.min(plan.batch, left) }
      return { do: 'become', state: kind === 'purge' || onTheWay === 0 ? 'done' : 'following' }
    default:
      // what could not be sent after all, by whoever took it over
      if (left > 0) return { do: 'send', most: Math.min(plan.batch, left) }
      return onTheWay === 0 ? { do: 'become', state: 'done' } : { do: 'wait' }
  }
}

/** Where it begins once nothing speaks against it. */
export const firstOf = ({ kind, plan }: Pick<Operation, 'kind' | 'plan'>): 'canary' | 'ramp' =>
  kind === 'replay' && plan.canary ? 'canary' : 'ramp'

const tried = (counts: ItemCounts): number =>
  counts.sending + counts.sent + counts.resolved + counts['dead again'] + counts.failed

const watch = ({ plan, since }: Operation, counts: ItemCounts, now: Instant): Step => {
  const { wait, deaths } = plan.canary!
  const died = counts['dead again'] + counts.failed
  const all = tried(counts)
  if (died > deaths * all) {
    return { do: 'become', state: 'stopped', because: `${died} of ${all} canaries died again` }
  }
  const out = counts.sending + counts.sent
  if (out === 0) return { do: 'become', state: 'ramp' }
  if (now < since + wait) return { do: 'wait', until: since + wait }
  return { do: 'pause', because: `${out} of ${all} canaries are not back in time` }
}
