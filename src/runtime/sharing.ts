import type { Board } from '../contracts/board.ts'
import type { Tools } from '../contracts/tools.ts'
import { serviceEntry } from '../core/orders.ts'
import { createHeartbeats } from './heartbeats.ts'
import type { Pacing } from './pacing.ts'
import { createSharedBreakers, type SharedBreakers } from './shared-breakers.ts'
import { createSharedBudgets, type SharedBudgets } from './shared-budgets.ts'

/**
 * What one process shares with others by the board: breakers, budgets, which services it runs and how they fare. Calls never wait for
 * it: they go by what was heard last, and where the board is down by what this process knows itself.
 */
export interface Sharing extends SharedBreakers, Pick<SharedBudgets, 'ask'> {
  runs(services: readonly string[]): void
}

export const createSharing = (board: Board, tools: Tools, pacing: Pick<Pacing, 'report'>): Sharing => {
  const process = tools.dice.uuid()
  const heartbeat = createHeartbeats(board, tools.clock)
  let services: readonly string[] = []

  /** One after the other: what was told first is heard first. */
  let turn: Promise<void> = Promise.resolve()
  const next = (work: () => Promise<void>): Promise<void> => {
    const done = turn.then(work)
    // who asked for it is told; those behind him go on
    turn = done.catch(() => {})
    return done
  }
  // what goes wrong here goes wrong again when all is synchronised, and is told there
  const inTurn = (work: () => Promise<void>): void => void next(work).catch(() => {})

  const breakers = createSharedBreakers(board, process, tools, heartbeat, inTurn)
  const budgets = createSharedBudgets(board, process, tools.clock, heartbeat, inTurn)

  const tellServices = async (): Promise<void> => {
    for (const name of services) {
      await heartbeat(serviceEntry(name, process), () => ({ name, process }), '')
    }
  }

  return {
    join: breakers.join,
    ask: budgets.ask,
    runs: (names) => {
      services = names
    },
    sync: () =>
      next(async () => {
        await tellServices()
        await breakers.sync()
        await budgets.sync()
        await pacing.report(board, process)
      }),
    // what isn't given back runs out
    leave: () => next(breakers.leave).catch(() => {}),
  }
}
