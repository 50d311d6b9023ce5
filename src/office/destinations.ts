import type { Board } from '../contracts/board.ts'
import type { Destination } from '../contracts/transport.ts'
import type { Millis } from '../core/time.ts'
import { destinationsFor, type RuleBook } from '../rules/index.ts'

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

/** Where letters may lie: what services named when they started, and what the rule book names for those that never did. */
export const knownDestinations = async (board: Board, book: RuleBook): Promise<readonly Destination[]> => {
  const named = (await board.read(PREFIX)).map(({ value }) => value as unknown as Destination)
  const written = [...book.services].flatMap(([service, { events }]) => {
    const rows = Object.keys(events ?? {})
    return destinationsFor(book, service, rows.length > 0 ? rows : ['*'])
  })
  const byName = new Map(
    [...written, ...named, ...foreignDestinations(book)].map((destination) => [
      destination.name,
      destination,
    ]),
  )
  return [...byName.values()]
}

/** What others write, named in the rules to be taken over too. */
export const foreignDestinations = ({ foreign }: RuleBook): readonly Destination[] =>
  [...foreign.keys()].map((name) => ({ name, foreign: true }))
