import type { LetterState, Letters } from '../contracts/letters.ts'
import type { Tools } from '../contracts/tools.ts'
import type { ActName, ActOnLetters } from '../core/acts.ts'
import { firstState, type Letter } from '../core/letter.ts'
import { type createActor, setOf, type Working } from './acting.ts'
import type { DeadKeys } from './dead-keys.ts'
import { chosenBy, frozenIds, type Selection } from './selection.ts'

/** Giving letters up, taking them back, and letting them out of quarantine. */
export interface Moving {
  /**
   * Gives up open letters for good; what waits behind them with their order keys goes on, in order. To do it again frees
   * again: nothing stays held because a process died in between.
   */
  discard(letters: Selection, by?: Working): Promise<DiscardResult>
  /**
   * Takes back what was discarded, as long as retention keeps it: it is open again, or in quarantine where it began there.
   * What waited behind it has gone on meanwhile, and is not held again.
   */
  restore(letters: Selection, by?: Working): Promise<RestoreResult>
  /** Lets poison out of quarantine: from then on it is open, and can be replayed. */
  release(letters: Selection, by?: Working): Promise<ReleaseResult>
}

type Skipped = readonly { readonly id: string; readonly because: string }[]

export interface DiscardResult {
  readonly discarded: readonly string[]
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
}

const BATCH = 50

export const createMoving = ({ letters, deadKeys, tools, actor }: MovingOptions): Moving => {
  const { clock, journal } = tools

  /** In batches, each with its entry in the audit. `to` says where a letter goes; answers those that went. */
  const move = async (
    selection: Selection,
    by: Working,
    act: ActName,
    /** What a filter chooses among. */
    chosen: readonly LetterState[],
    from: readonly LetterState[],
    to: (letter: Letter) => LetterState,
    after: (letters: readonly Letter[], act: ActOnLetters) => Promise<void>,
  ) => {
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

  return {
    discard: async (selection, by = {}) => {
      let freed = 0
      const from = ['open', 'quarantined', 'discarded'] as const
      // taken first, so that nobody replays them meanwhile; then their followers are let go
      const free = async (gone: readonly Letter[], { at, reason }: ActOnLetters) => {
        for (const letter of gone) {
          freed += await deadKeys.behind(letter)
          await deadKeys.release(letter)
          const { id, service } = letter
          journal({ at, is: 'discarded', letter: id, service, ...(reason !== undefined && { reason }) })
        }
      }
      const { ids, skipped } = await move(
        selection,
        by,
        'discard',
        ['open', 'quarantined'],
        from,
        () => 'discarded',
        free,
      )
      return { discarded: ids, skipped, freed }
    },
    restore: async (selection, by = {}) => {
      const from = ['discarded'] as const
      const tell = async (back: readonly Letter[], { at, reason }: ActOnLetters) => {
        for (const { id, service } of back)
          journal({ at, is: 'restored', letter: id, service, ...(reason !== undefined && { reason }) })
      }
      const { ids, skipped } = await move(selection, by, 'restore', from, from, firstState, tell)
      return { restored: ids, skipped }
    },
    release: async (selection, by = {}) => {
      const from = ['quarantined'] as const
      const tell = async (out: readonly Letter[], { at, reason }: ActOnLetters) => {
        for (const { id } of out)
          journal({ at, is: 'released', letter: id, ...(reason !== undefined && { reason }) })
      }
      const { ids, skipped } = await move(selection, by, 'release', from, from, () => 'open', tell)
      return { released: ids, skipped }
    },
  }
}
