import type { Json } from './json.ts'

/** How much waits for services, as each of their processes sees it, as entries of the board: the names and the shape. */

export const WAITING = 'waiting/'
export const waitingEntry = (process: string): string => `${WAITING}${process}`

/** By service, and by the place where it waits: the same place is the same for all processes. */
export type Waiting = Readonly<Record<string, Readonly<Record<string, number>>>>

/** Entries may be anybody's: what is not of the right shape is not there. */
export const readWaiting = (value: Json | undefined): Waiting => {
  if (!isRecord(value)) return {}
  return Object.fromEntries(
    Object.entries(value).map(([service, places]) => [
      service,
      isRecord(places) ? Object.fromEntries(Object.entries(places).filter(isCount)) : {},
    ]),
  )
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isCount = (entry: [string, unknown]): entry is [string, number] =>
  Number.isSafeInteger(entry[1]) && (entry[1] as number) >= 0

/** By service: all its places together, of each what the process says that sees most. */
export const waitingInAll = (told: readonly Waiting[]): ReadonlyMap<string, number> => {
  const most = new Map<string, Map<string, number>>()
  for (const [service, places] of told.flatMap((each) => Object.entries(each))) {
    const known = most.get(service) ?? new Map<string, number>()
    most.set(service, known)
    for (const [place, count] of Object.entries(places))
      known.set(place, Math.max(known.get(place) ?? 0, count))
  }
  return new Map(
    [...most].map(([service, places]) => [service, [...places.values()].reduce((a, b) => a + b, 0)]),
  )
}
