import type { LetterFilter } from '../contracts/letters.ts'
import type { Item, KeptOperation } from '../contracts/operations.ts'
import type { ActName } from '../core/acts.ts'
import { ReprieveError } from '../core/error.ts'
import { firstOf, type ItemState, isLive, lettersIn, type Operation, paceFrom } from '../core/operation.ts'
import type { Acting } from './acting.ts'
import { actOnOperation, type DeskOptions, type FreezeFor, type PlanOptions } from './planning.ts'

/** Replays and purges of whole sets: durable, countable, with approval and audit. */
export interface OperationsDesk {
  /**
   * Freezes what fits now, and is open or in quarantine unless the filter names states, with a reason for each letter that would not be worked on, and does nothing to them. From now on
   * they are in no other operation, for an hour at most if nobody begins it. Where nothing fits it is cancelled at once.
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

const MOST_CHANGES = 20

export const createOperations = (options: DeskOptions, freezeFor: FreezeFor): OperationsDesk => {
  const { operations, book, actor, working } = options
  const { clock } = options.tools
  const { approvalLasts } = book.operations

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
      const told = actOnOperation(actor, id, by, act, lettersIn(kept.counts))
      const changed = await operations.change(operation, kept.version, told)
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

  const begin = ({ operation, counts }: Pick<KeptOperation, 'operation' | 'counts'>): Operation => {
    const { until: _, ...rest } = operation
    const since = clock.now()
    return { ...rest, state: firstOf(operation), since, pace: paceFrom(counts, since) }
  }

  const start: OperationsDesk['start'] = (id, by = {}) =>
    change(id, by, 'operation start', ({ operation, counts }) => {
      if (operation.state === 'needs approval' || operation.state === 'approved') return undefined
      if (operation.state !== 'frozen') refuse(operation, 'begun')
      return begin({ operation, counts })
    })

  const show = async (id: string): Promise<KeptOperation> => {
    await working.tidy()
    return find(id)
  }

  return {
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
      change(id, by, 'operation resume', ({ operation, counts }) => {
        const { paused, ...rest } = operation
        if (!isLive(rest.state)) refuse(operation, 'resumed')
        if (rest.state === 'frozen') return begin({ operation: rest, counts })
        const now = clock.now()
        // canaries that were not back in time have as long once more
        const watching = rest.state === 'watching' && { since: now }
        return paused && { ...rest, ...watching, pace: paceFrom(counts, now) }
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
