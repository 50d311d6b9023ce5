import type { Clock } from '../../contracts/tools.ts'
import type { Millis } from '../../core/time.ts'
import type { Member } from './member.ts'

const ROUND: Millis = 5_000

/**
 * Marks that end transactions, and what aborted ones wrote, lie in the log and are nobody's to settle. Where nothing
 * else follows them they are committed here, so that the group is not said to lag behind what it never gets.
 */
export const trailing = async (clock: Clock, member: Member): Promise<void> => {
  while (!member.left.aborted) {
    await clock.sleep(ROUND, member.left)
    if (!member.handing) continue
    const passed = [...member.tenures.values()].filter(
      ({ span, position, committed }) => span === 0 && position > committed,
    )
    if (passed.length > 0) await member.commits.flush(passed).catch(() => {}) // the next round tries again
  }
}
