import type { KeptLetter, LetterFilter, LetterState, Letters } from '../contracts/letters.ts'
import type { Tools } from '../contracts/tools.ts'
import type { Millis } from '../core/time.ts'
import { type RuleBook, rulesFor } from '../rules/index.ts'
import type { Acting, createActor } from './acting.ts'
import type { DeadKeys } from './dead-keys.ts'
import type { Every } from './jobs.ts'
import { deskOf } from './repairing.ts'

/** Removing letters whose time in the office is over. */
export interface Retention {
  /**
   * Removes letters older than the rules keep them (`deadLetter.retention`), in batches, each with its entry in the
   * audit; what waits behind them with their order keys goes on. A letter on its way back stays until that is as old, too.
   */
  removePast(options?: RemoveOptions): Promise<Removed>
}

export interface RemoveOptions extends Acting {
  /** At most so many. */
  readonly most?: number
  readonly signal?: AbortSignal
}

export interface Removed {
  readonly removed: number
  /** How many events waited behind them and go on now. */
  readonly freed: number
}

const BATCH = 100
const MOST = 100_000
const AT_REST: readonly LetterState[] = ['open', 'quarantined', 'resolved', 'dead again', 'discarded']
const HOLDING: readonly LetterState[] = ['open', 'quarantined']

export interface RetentionParts {
  readonly letters: Letters
  readonly deadKeys: DeadKeys
  readonly tools: Tools
  readonly actor: ReturnType<typeof createActor>
  readonly book: RuleBook
}

export const createRetention = ({ letters, deadKeys, tools, actor, book }: RetentionParts): Retention => {
  const { clock } = tools

  /**
   * A letter that holds an order key is given up first, then its followers are let go, then it is removed: whoever dies in
   * between leaves a letter for which all of this can be done again.
   */
  const removeBatch = async (
    batch: readonly KeptLetter[],
    by: Acting,
    retention: Millis,
  ): Promise<Removed> => {
    const act = () => ({ ...actor(by, 'retention', { retention }), at: clock.now() })
    const keyed = batch.filter(({ letter }) => letter.event.extensions.orderkey !== undefined)
    const holding = keyed.filter(({ state }) => HOLDING.includes(state))
    if (holding.length > 0) {
      const at = clock.now()
      const marks = holding.map(({ letter }) => ({
        id: letter.id,
        from: HOLDING,
        to: 'discarded' as const,
        at,
      }))
      await letters.mark(marks, act())
    }
    let freed = 0
    for (const { letter, state } of keyed) {
      if (state === 'replaying') continue
      freed += await deadKeys.behind(letter)
      await deadKeys.release(letter)
    }
    const ids = batch.map(({ letter }) => letter.id)
    const old = batch.some(({ state }) => state === 'replaying')
      ? [...AT_REST, 'replaying' as const]
      : AT_REST
    const done = await deskOf(letters).remove(ids, old, act())
    return { removed: done.filter(Boolean).length, freed }
  }

  const pairs = async (): Promise<readonly Pick<LetterFilter & object, 'service' | 'type'>[]> => {
    const known = new Map<string, { service: string; type: string }>()
    for (const { service, type } of await letters.groups.tallies())
      known.set(JSON.stringify([service, type]), { service, type })
    return [...known.values()]
  }

  return {
    removePast: async ({ most = MOST, signal, ...by } = {}) => {
      let removed = 0
      let freed = 0
      for (const pair of await pairs()) {
        const { retention } = rulesFor(book, pair.service!, pair.type!).deadLetter
        const to = clock.now() - retention
        const remove = async (batch: readonly KeptLetter[]): Promise<boolean> => {
          const done = await removeBatch(batch, by, retention)
          removed += done.removed
          freed += done.freed
          await clock.sleep(0) // nobody else is kept waiting
          return done.removed > 0
        }
        for (const states of [AT_REST, ['replaying'] as const]) {
          let after: string | undefined // the last that stays: behind it are more
          for (let on = true; on && removed < most && !signal?.aborted; ) {
            const wanted = Math.min(BATCH, most - removed)
            const found = await letters.find({ ...pair, to, states }, wanted, after)
            const isPast = ({ state, stateAt }: KeptLetter) => state !== 'replaying' || stateAt < to
            const past = found.filter(isPast)
            after = found.findLast((kept) => !isPast(kept))?.letter.id ?? after
            on = (past.length === 0 || (await remove(past))) && found.length === wanted
          }
        }
      }
      return { removed, freed }
    },
  }
}

/** Letters past their time go by themselves, on a schedule. */
export interface RetentionOptions {
  /** As in a rule book, or in milliseconds. Default: an hour. */
  readonly every?: string | Millis
  /** At most so many each time. Default: 100,000. */
  readonly most?: number
}

/** On unless options or rules switch it off. What the options say comes before the book. */
export const scheduleRetention = (
  onSchedule: Every,
  office: Retention,
  { retention: written }: Pick<RuleBook, 'retention'>,
  option: boolean | RetentionOptions | undefined,
  process: string,
): void => {
  if (option === false || (option === undefined && written === 'off')) return
  const { every = '1h', most } = {
    ...(typeof written === 'object' && written),
    ...(typeof option === 'object' && option),
  }
  onSchedule(every, 'retention', ({ signal }) =>
    office.removePast({ signal, as: `retention job of ${process}`, ...(most !== undefined && { most }) }),
  )
}
