import type { LetterFilter, LetterState, Letters } from '../contracts/letters.ts'
import type { Item, KeptOperation, Operations } from '../contracts/operations.ts'
import type { Tools } from '../contracts/tools.ts'
import type { ActName } from '../core/acts.ts'
import type { Details } from '../core/audit.ts'
import { ReprieveError } from '../core/error.ts'
import {
  type Canary,
  firstOf,
  type ItemState,
  isLive,
  type Operation,
  type OperationKind,
  OVERRIDES,
  type Override,
  type Plan,
  type Target,
} from '../core/operation.ts'
import { sieveFor } from '../core/sift.ts'
import type { Millis } from '../core/time.ts'
import { CANARY, type RuleBook } from '../rules/index.ts'
import type { Acting, createActor } from './acting.ts'
import type { createChecks } from './checks.ts'
import { freeze } from './freezing.ts'
import { OPERATION_LEASE, type Working } from './working.ts'

/** Replays and purges of whole sets: durable, countable, with approval and audit. */
export interface OperationsDesk {
  /**
   * Freezes what fits now, with a reason for each letter that would not be worked on, and does nothing to them. From now on
   * they are in no other operation, for an hour at most if nobody begins it.
   */
  plan(filter: LetterFilter, options?: PlanOptions, by?: Acting): Promise<KeptOperation>
  /** Begins one that is frozen. Where the rules ask for approval it begins by itself once that is given. */
  start(id: string, by?: Acting): Promise<KeptOperation>
  /** By someone other than who asked for it. With a hash: only where that is the set's, or the beginning of it. */
  approve(id: string, by?: Acting & { readonly hash?: string }): Promise<KeptOperation>
  pause(id: string, by?: Acting): Promise<KeptOperation>
  /** Goes on where it was; one that is frozen is begun. */
  resume(id: string, by?: Acting): Promise<KeptOperation>
  /** Nothing more is sent. What is on its way is still heard of. */
  cancel(id: string, by?: Acting): Promise<KeptOperation>
  /** By its id, or the beginning of it. */
  show(id: string): Promise<KeptOperation>
  /** The newest first. */
  list(options?: {
    readonly live?: boolean
    readonly limit?: number
    readonly before?: string
  }): Promise<readonly KeptOperation[]>
  /** What became of each letter, in the order of work, a page at a time. */
  items(id: string, options?: ItemOptions): Promise<readonly Item[]>
  /** Does in this process all that can be done now. Offices that are open do so by themselves. */
  work(id: string, signal?: AbortSignal): Promise<KeptOperation>
}

export interface ItemOptions {
  readonly states?: readonly ItemState[]
  readonly limit?: number
  readonly after?: number
}

export interface PlanOptions {
  /** Default: replay. */
  readonly kind?: OperationKind
  /** So many first, or none; default: as the rules say. */
  readonly canary?: number | Partial<Canary>
  readonly batch?: number
  /** Letters a second. */
  readonly rate?: number
  readonly to?: Target
  readonly although?: readonly Override[]
}

export interface DeskOptions {
  readonly operations: Operations
  readonly letters: Letters
  readonly tools: Tools
  readonly book: RuleBook
  readonly actor: ReturnType<typeof createActor>
  readonly checks: ReturnType<typeof createChecks>
  readonly working: Working
  readonly name: string
}

const FROZEN_LASTS: Millis = 60 * 60_000
const MOST_CHANGES = 20

export const createOperations = (
  options: DeskOptions,
): OperationsDesk & { readonly freezeFor: FreezeFor } => {
  const { operations, letters, tools, book, actor, checks, working, name } = options
  const { clock, dice } = tools
  const { approvalAbove, approvalLasts } = book.operations

  const freezeFor: FreezeFor = async (
    filter,
    plan,
    by,
    { quick = false, id = dice.uuid(), approved = false } = {},
  ) => {
    const kind = plan.kind ?? 'replay'
    const { who, reason } = actor(by, kind)
    if (kind === 'purge' && (reason ?? '').trim() === '') {
      throw new ReprieveError('bad_usage', 'a purge needs a reason', {
        fix: 'say why: it is kept in the audit',
      })
    }
    sieveFor(filter) // what can't be read is refused before anything is kept
    const { ids, ...chosen } = filter
    const at = clock.now()
    const begun: Operation = {
      id,
      kind,
      state: 'freezing',
      since: at,
      by: who,
      at,
      ...(reason !== undefined && { reason }),
      chosen: { ...(chosen as Details), ...(ids && { ids: ids.length }) },
      plan: planOf(plan, book, quick),
      ...(ids && !filter.states && { named: true }),
    }
    await working.tidy()
    await operations.begin(begun)
    const stay = async () => {
      const now = clock.now()
      return operations.take(begun.id, name, now, now + OPERATION_LEASE)
    }
    const mine = (await stay())!
    const frozen = await freeze(
      mine,
      { ...filter, ...statesFor(kind, filter, quick) },
      {
        operations,
        letters,
        now: clock.now,
        check: await checks(),
        approvalAbove: approved ? undefined : approvalAbove,
        stay,
        sealed: ({ operation, counts, reasons }, state, hash) => {
          const since = clock.now()
          const until = since + (state === 'frozen' ? FROZEN_LASTS : approvalLasts)
          const atOnce = quick && state === 'frozen'
          const next = atOnce
            ? { ...operation, state: firstOf(operation), since, hash }
            : { ...operation, state, since, hash, until }
          const details: Details = {
            kind,
            filter: operation.chosen,
            set: hash,
            waiting: counts.waiting,
            reasons,
          }
          return { operation: next, act: quick ? undefined : actOn(begun.id, by, 'operation plan', details) }
        },
      },
    ).catch(async (error) => {
      await giveUp(id)
      throw error
    })
    // whoever begins it need not wait for who froze it
    if (!quick) await operations.take(id, name, clock.now(), clock.now())
    return frozen
  }

  /** What could not be frozen whole is nothing: its letters are free at once. */
  const giveUp = async (id: string): Promise<void> => {
    const kept = await operations.read(id).catch(() => undefined)
    if (kept?.operation.state !== 'freezing') return
    const because = 'its set could not be frozen'
    const over: Operation = { ...kept.operation, state: 'cancelled', since: clock.now(), because }
    // where that fails too it is cancelled when its lease is over
    await operations.change(over, kept.version).catch(() => undefined)
  }

  const actOn = (id: string, by: Acting, act: ActName, details: Details = {}) => ({
    ...actor(by, act, details),
    target: `operation ${id}`,
    count: 1,
  })

  const find = async (beginning: string): Promise<KeptOperation> => {
    const [first, second] = await operations.list({ beginning }, 2)
    if (!first) {
      throw new ReprieveError('unknown_operation', `no operation's id begins with '${beginning}'`, {
        fix: 'take one from `reprieve dlq operations`',
      })
    }
    if (!second || first.operation.id === beginning) return first
    if (second.operation.id === beginning) return second
    throw new ReprieveError('bad_usage', `the ids of several operations begin with '${beginning}'`, {
      fix: `type more of it: ${first.operation.id}, ${second.operation.id}`,
    })
  }

  /** Compare and set, again where somebody else was quicker. */
  const change = async (
    beginning: string,
    by: Acting,
    act: ActName,
    next: (kept: KeptOperation) => Operation | undefined,
  ): Promise<KeptOperation> => {
    actor(by, act) // a name that can't be written is refused before anything is done
    const { id } = (await find(beginning)).operation
    for (let tries = 0; tries < MOST_CHANGES; tries++) {
      const kept = (await operations.read(id))!
      const operation = next(kept)
      if (!operation) return kept
      const changed = await operations.change(operation, kept.version, actOn(id, by, act))
      if (!changed) continue
      working.ring()
      return changed
    }
    throw new ReprieveError('unavailable', `operation ${id} changes all the time`, { fix: 'try again' })
  }

  const refuse = ({ id, state, because }: Operation, what: string): never => {
    const why = because === undefined ? '' : ` (${because})`
    throw new ReprieveError('bad_usage', `operation ${id} can't be ${what}: it is ${state}${why}`)
  }

  const begin = (operation: Operation): Operation => {
    const { until: _, ...rest } = operation
    return { ...rest, state: firstOf(operation), since: clock.now() }
  }

  const start: OperationsDesk['start'] = (id, by = {}) =>
    change(id, by, 'operation start', ({ operation }) => {
      if (operation.state === 'needs approval' || operation.state === 'approved') return undefined
      if (operation.state !== 'frozen') refuse(operation, 'begun')
      return begin(operation)
    })

  const show = async (id: string): Promise<KeptOperation> => {
    await working.tidy()
    return find(id)
  }

  return {
    freezeFor,
    plan: (filter, plan = {}, by = {}) => freezeFor(filter, plan, by),
    start,
    approve: (id, by = {}) =>
      change(id, by, 'operation approve', ({ operation }) => {
        const { who } = actor(by, 'operation approve')
        const { hash = '', state, until, by: asked } = operation
        const at = clock.now()
        if (state !== 'needs approval') refuse(operation, 'approved')
        if (until !== undefined && until <= at)
          refuse({ ...operation, because: 'its time is over' }, 'approved')
        if (who === asked) {
          throw new ReprieveError(
            'not_allowed',
            `'${who}' asked for operation ${operation.id}, and can't approve it`,
            {
              fix: 'someone else must approve it',
            },
          )
        }
        if (by.hash !== undefined && (by.hash.length < 8 || !hash.startsWith(by.hash))) {
          throw new ReprieveError('not_allowed', `the set of operation ${operation.id} has another hash`, {
            fix: `look at it again: it is ${hash}`,
          })
        }
        return {
          ...operation,
          state: 'approved',
          since: at,
          approval: { by: who, at, hash },
          until: at + approvalLasts,
        }
      }),
    pause: (id, by = {}) =>
      change(id, by, 'operation pause', ({ operation }) => {
        if (!isLive(operation.state)) refuse(operation, 'paused')
        if (operation.paused) return undefined
        const { who, reason } = actor(by, 'operation pause')
        const because = reason === undefined ? {} : { because: reason }
        return { ...operation, paused: { by: who, at: clock.now(), ...because } }
      }),
    resume: (id, by = {}) =>
      change(id, by, 'operation resume', ({ operation }) => {
        const { paused, ...rest } = operation
        if (!isLive(rest.state)) refuse(operation, 'resumed')
        if (rest.state === 'frozen') return begin(rest)
        // canaries that were not back in time have as long once more
        return paused && { ...rest, ...(rest.state === 'watching' && { since: clock.now() }) }
      }),
    cancel: (id, by = {}) =>
      change(id, by, 'operation cancel', ({ operation }) => {
        if (!isLive(operation.state)) refuse(operation, 'cancelled')
        const { who, reason } = actor(by, 'operation cancel')
        const because = reason === undefined ? `by ${who}` : `by ${who}: ${reason}`
        return { ...operation, state: 'cancelled', since: clock.now(), because }
      }),
    show,
    list: async ({ live, limit = 50, before } = {}) => {
      await working.tidy()
      return operations.list(live === undefined ? {} : { live }, limit, before)
    },
    items: async (id, { states, limit = 50, after } = {}) =>
      operations.items((await find(id)).operation.id, states, limit, after),
    work: async (beginning, signal) => {
      const { id } = (await find(beginning)).operation
      await working.drive(id, signal && { signal })
      return show(id)
    },
  }
}

export type FreezeFor = (
  filter: LetterFilter,
  plan: PlanOptions,
  by: Acting,
  options?: { readonly quick?: boolean; readonly id?: string; readonly approved?: boolean },
) => Promise<KeptOperation>

/** Bulk passes quarantine by and says so; what is at an end is left out, unless it is asked for. */
const statesFor = (
  kind: OperationKind,
  { ids, states }: LetterFilter,
  quick: boolean,
): { readonly states?: readonly LetterState[] } => {
  if (quick && !ids) return { states: (['open'] as const).filter((state) => states?.includes(state) ?? true) }
  if (ids || states || kind === 'purge') return states ? { states } : {}
  return { states: ['open', 'quarantined'] }
}

const planOf = (asked: PlanOptions, { operations: rules }: RuleBook, quick: boolean): Plan => {
  const { kind = 'replay', batch = rules.batch, to, although = [] } = asked
  const rate = asked.rate ?? (quick ? undefined : rules.rate)
  const wrong = although.find((word) => !OVERRIDES.includes(word))
  if (wrong !== undefined) {
    throw new ReprieveError('bad_usage', `'${wrong}' is nothing that can be passed over`, {
      fix: `use one of ${OVERRIDES.join(', ')}`,
    })
  }
  inRange('batch', batch, 1, 1000)
  if (rate !== undefined) inRange('rate', rate, 0.01, 1_000_000)
  const canary = kind === 'purge' || quick ? undefined : canaryOf(asked.canary, rules.canary)
  return {
    batch,
    although: [...new Set(although)],
    ...(canary && { canary }),
    ...(rate !== undefined && { rate }),
    ...(to !== undefined && { to }),
  }
}

const canaryOf = (asked: PlanOptions['canary'], rules: Canary | undefined): Canary | undefined => {
  if (asked === undefined) return rules
  const given: Partial<Canary> = typeof asked === 'number' ? { size: asked } : asked
  const canary = { size: 10, ...CANARY, ...rules, ...given }
  if (canary.size === 0) return undefined
  inRange('canary', canary.size, 1, 10_000)
  inRange('deaths', canary.deaths, 0, 1)
  return canary
}

const inRange = (name: string, value: number, least: number, most: number): void => {
  if (typeof value === 'number' && value >= least && value <= most) return
  throw new ReprieveError('bad_usage', `${name} must be a number from ${least} to ${most}`)
}
