import type { Board } from '../contracts/board.ts'
import type { LetterState, Letters } from '../contracts/letters.ts'
import type { Tools } from '../contracts/tools.ts'
import type { ActName, ActOnLetters } from '../core/acts.ts'
import { firstState, type Letter } from '../core/letter.ts'
import { MENDED_LASTS, mendedEntry } from '../core/orders.ts'
import { type ActingOnMany, type createActor, needReason, setOf } from './acting.ts'
import type { DeadKeys } from './dead-keys.ts'
import { chosenBy, frozenIds, type Selection } from './selection.ts'

/** Giving letters up, taking them back, saying that they are dealt with, and letting them out of quarantine. */
export interface Moving {
  /**
   * Gives up open letters for good; what waits behind them with their order keys goes on, in order. To do it again frees
   * again: nothing stays held because a process died in between.
   */
  discard(letters: Selection, by?: ActingOnMany): Promise<DiscardResult>
  /**
   * Says that letters were dealt with elsewhere: those that are open, in quarantine or dead again are resolved, with a reason;
   * what waits behind them with their order keys goes on, in order. To do it again frees again, as with `discard`.
   */
  resolve(letters: Selection, by: ActingOnMany): Promise<ResolveResult>
  /**
   * Takes back what was discarded, as long as retention keeps it: it is open again, or in quarantine where it began there.
   * What waited behind it has gone on meanwhile, and is not held again.
   */
  restore(letters: Selection, by?: ActingOnMany): Promise<RestoreResult>
  /** Lets poison out of quarantine, with a reason: from then on it is open, and can be replayed. */
  release(letters: Selection, by: ActingOnMany): Promise<ReleaseResult>
}

type Skipped = readonly { readonly id: string; readonly because: string }[]

export interface DiscardResult {
  readonly discarded: readonly string[]
  readonly skipped: Skipped
  /** How many events waited behind them and go on now. */
  readonly freed: number
}

export interface ResolveResult {
  readonly resolved: readonly string[]
  readonly skipped: Skipped
  /** How many events waited behind them and go on now. */
  readonly freed: number
}

export interface RestoreResult {
  readonly restored: readonly string[]
  readonly skipped: Skipped
}

export interface ReleaseResult {
  readonly released: readonly string[]
  readonly skipped: Skipped
}

export interface MovingOptions {
  readonly letters: Letters
  readonly deadKeys: DeadKeys
  readonly tools: Tools
  readonly actor: ReturnType<typeof createActor>
  /** Where running services hear of it. */
  readonly board: Board
}

const BATCH = 50

interface Move {
  readonly act: ActName
  /** What a filter chooses among. */
  readonly chosen: readonly LetterState[]
  readonly from: readonly LetterState[]
  /** Where a letter goes. */
  readonly to: (letter: Letter) => LetterState
  readonly after: (letters: readonly Letter[], act: ActOnLetters) => Promise<void>
}

export const createMoving = ({ letters, deadKeys, tools, actor, board }: MovingOptions): Moving => {
  const { clock, journal } = tools

  /** In batches, each with its entry in the audit. Answers those that went. */
  const move = async (selection: Selection, by: ActingOnMany, { act, chosen, from, to, after }: Move) => {
    actor(by, act) // a name that can't be written is refused before anything is done
    const ids = await frozenIds(letters, selection, chosen)
    const told = actor(by, act, { ...chosenBy(selection), ...setOf(ids, BATCH) })
    const gone = new Set<string>()
    for (let i = 0; i < ids.length; i += BATCH) {
      by.onProgress?.(i, ids.length)
      const some = ids.slice(i, i + BATCH)
      const found = new Map(
        (await letters.find({ ids: some }, BATCH)).map(({ letter }) => [letter.id, letter]),
      )
      const there = some.flatMap((id) => found.get(id) ?? [])
      const at = clock.now()
      const marks = there.map((letter) => ({ id: letter.id, from, to: to(letter), at }))
      const marked = await letters.mark(marks, { ...told, at })
      const ours = there.filter((_, n) => marked[n])
      await after(ours, { ...told, at })
      for (const { id } of ours) gone.add(id)
    }
    by.onProgress?.(ids.length, ids.length)
    const left = ids.filter((id) => !gone.has(id))
    const skipped = await Promise.all(left.map(async (id) => ({ id, because: await whyNot(id) })))
    return { ids: ids.filter((id) => gone.has(id)), skipped }
  }

  const whyNot = async (id: string): Promise<string> => {
    const [found] = await letters.find({ ids: [id] }, 1)
    return found ? `it is ${found.state}` : 'no letter has this id'
  }

  /** Taken first, so that nobody replays them meanwhile; then their followers are let go. */
  const freeing = (is: 'discarded' | 'resolved') => {
    const freed = { count: 0 }
    const after = async (gone: readonly Letter[], { at, reason }: ActOnLetters) => {
      for (const letter of gone) {
        freed.count += await deadKeys.behind(letter)
        await deadKeys.release(letter)
        const { id, service } = letter
        journal({ at, is, letter: id, service, ...(reason !== undefined && { reason }) })
      }
    }
    return { freed, after }
  }

  return {
    discard: async (selection, by = {}) => {
      const { freed, after } = freeing('discarded')
      const chosen = ['open', 'quarantined'] as const
      const from = [...chosen, 'discarded'] as const
      const { ids, skipped } = await move(selection, by, {
        ...{ act: 'discard', chosen, from, to: () => 'discarded', after },
      })
      return { discarded: ids, skipped, freed: freed.count }
    },
    resolve: async (selection, by = {}) => {
      needReason(by, 'to resolve letters by hand')
      const { freed, after } = freeing('resolved')
      const chosen = ['open', 'quarantined', 'dead again'] as const
      const from = [...chosen, 'resolved'] as const
      const { ids, skipped } = await move(selection, by, {
        ...{ act: 'resolve', chosen, from, to: () => 'resolved', after },
      })
      return { resolved: ids, skipped, freed: freed.count }
    },
    restore: async (selection, by = {}) => {
      const from = ['discarded'] as const
      const after = async (back: readonly Letter[], { at, reason }: ActOnLetters) => {
        for (const { id, service } of back)
          journal({ at, is: 'restored', letter: id, service, ...(reason !== undefined && { reason }) })
      }
      const { ids, skipped } = await move(selection, by, {
        ...{ act: 'restore', chosen: from, from, to: firstState, after },
      })
      return { restored: ids, skipped }
    },
    release: async (selection, by = {}) => {
      needReason(by, 'to let letters out of quarantine')
      const from = ['quarantined'] as const
      const after = async (out: readonly Letter[], { at, reason }: ActOnLetters) => {
        for (const { id } of out)
          journal({ at, is: 'released', letter: id, ...(reason !== undefined && { reason }) })
        const mended = new Map(
          out.map(({ service, event: { type } }) => [mendedEntry(service, type), { service, type, at }]),
        )
        for (const [entry, value] of mended) await board.post(entry, value, MENDED_LASTS)
      }
      const { ids, skipped } = await move(selection, by, {
        ...{ act: 'release', chosen: from, from, to: () => 'open', after },
      })
      return { released: ids, skipped }
    },
  }
}
