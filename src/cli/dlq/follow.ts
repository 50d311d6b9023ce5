import { systemClock } from '../../adapters/system/clock.ts'
import type { LetterState } from '../../contracts/letters.ts'
import type { Millis } from '../../core/time.ts'
import type { Office } from '../../office/index.ts'

export interface Endings {
  readonly resolved: number
  readonly deadAgain: number
  readonly onTheWay: number
}

const LOOK = 200
const PAGE = 500

/** Looks until each of the replayed letters has ended, or the time is over. The office must be open. */
export const follow = async (office: Office, sent: readonly string[], most: Millis): Promise<Endings> => {
  const until = systemClock.now() + most
  for (;;) {
    const [resolved, deadAgain] = await Promise.all([
      countOf(office, sent, 'resolved'),
      countOf(office, sent, 'dead again'),
    ])
    const onTheWay = sent.length - resolved - deadAgain
    const left = until - systemClock.now()
    if (onTheWay === 0 || left <= 0) return { resolved, deadAgain, onTheWay }
    await systemClock.sleep(Math.min(LOOK, left))
  }
}

/** In pages: a database does not take any number of ids in one question. */
const countOf = async (office: Office, ids: readonly string[], state: LetterState): Promise<number> => {
  let count = 0
  for (let i = 0; i < ids.length; i += PAGE) {
    count += await office.count({ ids: ids.slice(i, i + PAGE), states: [state] })
  }
  return count
}
