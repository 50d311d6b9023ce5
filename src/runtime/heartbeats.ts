import type { Board } from '../contracts/board.ts'
import type { Clock } from '../contracts/tools.ts'
import type { Json } from '../core/json.ts'
import { HEARTBEAT_EVERY, HEARTBEAT_LASTS } from '../core/shared-entries.ts'
import type { Instant } from '../core/time.ts'

/** Posts what a process says of itself: when there is news, and else now and then, so that all know it lives. */
export type Heartbeat = (entry: string, value: () => Json, news: string) => Promise<void>

export const createHeartbeats = (board: Board, clock: Pick<Clock, 'now'>): Heartbeat => {
  const posted = new Map<string, { readonly news: string; readonly at: Instant }>()
  return async (entry, value, news) => {
    const now = clock.now()
    const last = posted.get(entry)
    if (last?.news === news && Math.abs(now - last.at) < HEARTBEAT_EVERY) return
    await board.post(entry, value(), HEARTBEAT_LASTS)
    posted.set(entry, { news, at: now })
  }
}
