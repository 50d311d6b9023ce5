import type { Probe, Race } from './harness.ts'

/** The races of one transport, opened on whatever server it needs, or of one part of the library. */
export interface Bench {
  readonly races: readonly Race[]
  readonly probes: readonly Probe[]
  readonly versions: Readonly<Record<string, string>>
  /** Names the server, for other processes. */
  readonly env: Readonly<Record<string, string>>
  /** Each heat has a server of its own, because what others left there shows in the time it takes. Absent: all share one. */
  readonly anew?: boolean
  /** How many events a heat has, unless the run says otherwise. */
  readonly events: number
  /** How many may be out and unsettled at once; absent where what is counted are calls and not events on a transport. */
  readonly window?: number
  close(): Promise<void>
}

export type OpenBench = () => Promise<Bench>
