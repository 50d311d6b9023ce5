import type { Probe, Race } from './harness.ts'

/** One transport's races, opened on whatever server it needs. */
export interface Bench {
  readonly races: readonly Race[]
  readonly probes: readonly Probe[]
  readonly versions: Readonly<Record<string, string>>
  /** Names the server, for other processes. */
  readonly env: Readonly<Record<string, string>>
  /** How many events a heat has, unless the run says otherwise. */
  readonly events: number
  /** How many may be out and unsettled at once. */
  readonly window: number
  close(): Promise<void>
}

export type OpenBench = () => Promise<Bench>
