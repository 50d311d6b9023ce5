/** What was asked of the broker, so that a test can hold us to a number of round trips. */
export interface Counts {
  /** Messages published. */
  published: number
  /** Times that something waited for confirms: once for a whole batch. */
  waits: number
  /** Frames that acknowledged one delivery or many. */
  acks: number
  /** Deliveries given back. */
  returned: number
}

export const freshCounts = (): Counts => ({ published: 0, waits: 0, acks: 0, returned: 0 })
