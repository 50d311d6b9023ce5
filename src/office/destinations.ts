import type { Board } from '../contracts/board.ts'
import type { Destination } from '../contracts/transport.ts'
import type { Millis } from '../core/time.ts'

/** How long a destination that no service uses any more is still looked at. */
const REMEMBERED: Millis = 90 * 24 * 60 * 60 * 1000
const PREFIX = 'office/destination/'

/** Services name their destinations when they start, so that the office knows where to look without them. */
export const rememberDestinations = async (
  board: Board,
  destinations: readonly Destination[],
): Promise<void> => {
  for (const { name, expire } of destinations) {
    await board.post(PREFIX + name, { name, ...(expire !== undefined && { expire }) }, REMEMBERED)
  }
}

export const knownDestinations = async (board: Board): Promise<readonly Destination[]> => {
  const entries = await board.read(PREFIX)
  return entries.map(({ value }) => value as unknown as Destination)
}
