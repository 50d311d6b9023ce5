import type { Json } from './json.ts'

/** What services did, counted in each process from its start on, as entries of the board: the names and the shape. */

export const PACES = 'pace/'
export const paceEntry = (process: string): string => `${PACES}${process}`

export interface Pace {
  /** How often a handler ran. */
  readonly attempts: number
  readonly retries: number
  readonly duplicates: number
  readonly batches: number
  /** Batches whose handler took longer than it may. */
  readonly batchTimeouts: number
  /** Batches in which something critical failed. */
  readonly criticalBatches: number
}

const NAMES = ['attempts', 'retries', 'duplicates', 'batches', 'batchTimeouts', 'criticalBatches'] as const

export const NO_PACE: Pace = {
  attempts: 0,
  retries: 0,
  duplicates: 0,
  batches: 0,
  batchTimeouts: 0,
  criticalBatches: 0,
}

export type Paces = Readonly<Record<string, Pace>>

/** Entries may be anybody's: what is not of the right shape is nobody's pace. */
export const readPaces = (value: Json | undefined): Paces => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return {}
  return Object.fromEntries(
    Object.entries(value).flatMap(([service, pace]) => (isPace(pace) ? [[service, pace]] : [])),
  )
}

const isPace = (value: unknown): value is Pace =>
  typeof value === 'object' &&
  value !== null &&
  NAMES.every((name) => Number.isSafeInteger((value as Record<string, unknown>)[name]))

/** What came to pass between two reports of one process. Where it counts from the beginning again all of it is new. */
export const paceSince = (before: Pace | undefined, now: Pace): Pace => {
  if (!before || NAMES.some((name) => now[name] < before[name])) return now
  return made((name) => now[name] - before[name])
}

export const together = (paces: readonly Pace[]): Pace =>
  made((name) => paces.reduce((sum, pace) => sum + pace[name], 0))

const made = (of: (name: keyof Pace) => number): Pace =>
  Object.fromEntries(NAMES.map((name) => [name, of(name)])) as unknown as Pace
