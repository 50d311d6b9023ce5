import type { LetterFilter } from '../contracts/letters.ts'
import type { KeptOperation, Operations } from '../contracts/operations.ts'
import type { Tools } from '../contracts/tools.ts'
import { ReprieveError } from '../core/error.ts'
import type { Operation, Override } from '../core/operation.ts'
import type { Acting } from './acting.ts'
import type { FreezeFor } from './planning.ts'
import { actBy, type Working } from './working.ts'

export interface ReplayOptions extends Acting {
  /** What is passed over on purpose; the audit has it. */
  readonly although?: readonly Override[]
  /** The rule book itself asked for it, as for the recovery: nobody need approve. */
  readonly byRule?: true
}

export interface ReplayResult {
  /** Ids sent on their way; how they end is told by receipts. */
  readonly sent: readonly string[]
  /** Ids that were asked for and not sent, with the reason. */
  readonly skipped: readonly { readonly id: string; readonly because: string }[]
}

const PAGE = 1000
/** What a letter's own state tells better than a word. */
const TOLD_BY_STATE: ReadonlySet<string> = new Set([
  'unknown letter',
  'already done',
  'on its way',
  'quarantined',
  'redacted',
  'nowhere to go',
])

export interface QuickOptions {
  readonly operations: Operations
  readonly working: Working
  readonly freezeFor: FreezeFor
  readonly tools: Tools
  readonly whyNot: (id: string) => Promise<string>
}

/** A small operation that is begun and sent at once: what can't be sent is undone, and told to the caller. */
export const createQuick = ({ operations, working, freezeFor, tools, whyNot }: QuickOptions) => {
  const replay = async (
    filter: LetterFilter,
    { although = [], byRule, ...by }: ReplayOptions = {},
  ): Promise<ReplayResult> => {
    const id = tools.dice.uuid()
    const disown = working.own(id)
    try {
      const kept = await freezeFor(filter, { although }, by, { quick: true, id, approved: byRule === true })
      if (kept.operation.state === 'needs approval') {
        await over(kept, 'it needs approval')
        throw new ReprieveError('not_allowed', `${kept.counts.waiting} letters need approval`, {
          fix: 'plan an operation: office.operations.plan, or reprieve dlq replay',
        })
      }
      try {
        await working.drive(id, { strict: true })
      } catch (error) {
        await over((await operations.read(id))!, 'not all could be sent')
        throw error
      }
      return await resultOf(id)
    } finally {
      disown()
    }
  }

  /** Nothing of it is left to be done: its letters are free. */
  const over = async (kept: KeptOperation, because: string): Promise<void> => {
    const since = tools.clock.now()
    const { until: _, ...operation } = kept.operation
    const next: Operation = { ...operation, state: 'cancelled', since, because }
    await operations.change(next, kept.version, actBy(kept, 'operation cancel', since, because))
  }

  const resultOf = async (id: string): Promise<ReplayResult> => {
    const sent: string[] = []
    const skipped: { id: string; because: string }[] = []
    for (let after: number | undefined; ; ) {
      const page = await operations.items(id, undefined, PAGE, after)
      for (const { letter, state, because = state } of page) {
        if (state !== 'skipped' && state !== 'waiting' && state !== 'failed') sent.push(letter)
        else
          skipped.push({ id: letter, because: TOLD_BY_STATE.has(because) ? await whyNot(letter) : because })
      }
      if (page.length < PAGE) return { sent, skipped }
      after = page.at(-1)!.place
    }
  }

  return replay
}
