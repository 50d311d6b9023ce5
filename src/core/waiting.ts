import type { Json } from './json.ts'
import type { Instant } from './time.ts'

/** How much waits for services, as each of their processes sees it, as entries of the board: the names and the shape. */

export const WAITING = 'waiting/'
export const waitingEntry = (process: string): string => `${WAITING}${process}`

/** How many events wait, and since when the oldest of them, where the transport can tell. */
export interface Waits {
  readonly waiting: number
  readonly oldest?: Instant
}

/** By service, and by the place where it waits: the same place is the same for all processes. */
export type Waiting = Readonly<Record<string, Readonly<Record<string, Waits>>>>

/** Entries may be anybody's: what is not of the right shape is not there. */
export const readWaiting = (value: Json | undefined): Waiting => {
  if (!isRecord(value)) return {}
  return Object.fromEntries(
    Object.entries(value).map(([service, places]) => [
      service,
      isRecord(places)
        ? Object.fromEntries(
            Object.entries(places).flatMap(([place, said]) => {
              const waits = readWaits(said)
              return waits ? [[place, waits]] : []
            }),
          )
        : {},
    ]),
  )
}

/** A bare number is what processes said before they told the oldest. */
const readWaits = (said: unknown): Waits | undefined => {
  if (isCount(said)) return { waiting: said }
  if (!isRecord(said) || !isCount(said.waiting)) return undefined
  return { waiting: said.waiting, ...(isCount(said.oldest) && { oldest: said.oldest }) }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

/** By service: all its places together, of each what the process says that sees most, and the oldest of all. */
export const waitingInAll = (told: readonly Waiting[]): ReadonlyMap<string, Waits> => {
  const most = new Map<string, Map<string, Waits>>()
  for (const [service, places] of told.flatMap((each) => Object.entries(each))) {
    const known = most.get(service) ?? new Map<string, Waits>()
    most.set(service, known)
    for (const [place, waits] of Object.entries(places)) known.set(place, more(known.get(place), waits))
  }
  return new Map(
    [...most].map(([service, places]) => {
      const all = [...places.values()]
      const waiting = all.reduce((sum, each) => sum + each.waiting, 0)
      return [service, { waiting, ...earliest(all) }]
    }),
  )
}

const more = (one: Waits = { waiting: 0 }, other: Waits): Waits => ({
  waiting: Math.max(one.waiting, other.waiting),
  ...earliest([one, other]),
})

const earliest = (all: readonly Waits[]): { readonly oldest?: Instant } => {
  const known = all.flatMap(({ oldest }) => (oldest === undefined ? [] : [oldest]))
  return known.length > 0 ? { oldest: Math.min(...known) } : {}
}
