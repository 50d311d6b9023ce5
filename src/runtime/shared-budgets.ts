import type { Board } from '../contracts/board.ts'
import type { Clock } from '../contracts/tools.ts'
import {
  type BudgetAnswer,
  type BudgetRules,
  type BudgetState,
  budget,
  freshBudget,
  shareOf,
} from '../core/budget.ts'
import { budgetEntry, HEARTBEAT_EVERY, readShare, SHARES, shareEntry } from '../core/shared-entries.ts'
import type { Instant, Millis } from '../core/time.ts'
import type { Heartbeat } from './heartbeats.ts'
import { STALE } from './shared-guard.ts'

/**
 * One retry budget for all processes: each has its share of what comes by time and of what may be saved up, and keeps
 * what its own first calls bring. Only one of them begins with tokens, so that starting more of them brings none.
 */
export interface SharedBudgets {
  /** `take`: spends the token, or adds what a first call brings. */
  ask(name: string, rules: BudgetRules, signal: 'call' | 'retry', take: boolean): BudgetAnswer
  sync(): Promise<void>
}

interface Share {
  readonly since: Instant
  processes: number
  /** Whether it was the one to begin with tokens; unknown until the board has said so. */
  first: boolean | undefined
  /** From the first question after that on. */
  state: BudgetState | undefined
  renewedAt: Instant
}

/** All that used it are gone for so long: the next one begins with tokens again. */
const REMEMBERED: Millis = 60_000
const NOT_YET: Millis = 1000

export const createSharedBudgets = (
  board: Board,
  process: string,
  clock: Pick<Clock, 'now'>,
  heartbeat: Heartbeat,
  inTurn: (work: () => Promise<void>) => void,
): SharedBudgets => {
  const shares = new Map<string, Share>()

  const stateOf = (share: Share, rules: BudgetRules, now: Instant): BudgetState | undefined => {
    if (share.state) return share.state
    // without a board each process has a budget of its own
    const first = share.first ?? (Math.abs(now - share.since) >= STALE ? true : undefined)
    if (first === undefined) return undefined
    share.state = first ? freshBudget(now, rules) : { tokens: 0, at: now }
    return share.state
  }

  const sync = async (): Promise<void> => {
    if (shares.size === 0) return
    for (const name of shares.keys()) {
      await heartbeat(shareEntry(name, process), () => ({ name, process }), '')
    }
    const names = (await board.read(SHARES)).map(({ value }) => readShare(value))
    for (const [name, share] of shares) {
      share.processes = Math.max(1, names.filter((each) => each === name).length)
      const now = clock.now()
      if (Math.abs(now - share.renewedAt) < HEARTBEAT_EVERY) continue
      const isFirst = await board.post(budgetEntry(name), { process }, REMEMBERED, 0)
      if (!isFirst) await board.post(budgetEntry(name), { process }, REMEMBERED)
      share.first ??= isFirst
      share.renewedAt = now
    }
  }

  return {
    ask: (name, rules, signal, take) => {
      const now = clock.now()
      let share = shares.get(name)
      if (!share) {
        share = {
          since: now,
          processes: 1,
          first: undefined,
          state: undefined,
          renewedAt: Number.NEGATIVE_INFINITY,
        }
        shares.set(name, share)
        inTurn(sync)
      }
      const state = stateOf(share, rules, now)
      if (state === undefined) {
        return signal === 'call'
          ? { state: { tokens: 0, at: now }, granted: true }
          : { state: { tokens: 0, at: now }, granted: false, due: now + NOT_YET }
      }
      const answer = budget(state, signal, now, shareOf(rules, share.processes))
      if (take) share.state = answer.state
      return answer
    },
    sync,
  }
}
