import type { Json } from '../core/json.ts'
import type { Instant, Millis } from '../core/time.ts'

export interface Entry {
  readonly entry: string
  readonly value: Json
  readonly version: number
  readonly until: Instant
}

/** Small shared facts between processes. An entry whose time is over is as good as absent. */
export interface Board {
  /** With `ifVersion` only where that is the current version (0 = absent); answers whether it was written. */
  post(entry: string, value: Json, ttl: Millis, ifVersion?: number): Promise<boolean>
  /** Entries whose name begins with the prefix, by name. */
  read(prefix: string): Promise<readonly Entry[]>
}
