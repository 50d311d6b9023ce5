import type { Delivery } from '../contracts/transport.ts'
import type { Priority } from '../core/event.ts'
import type { Outcome } from '../core/verdict.ts'
import type { Rules } from '../rules/index.ts'
import type { Together } from './attempt.ts'
import type { Batched } from './batch-handler.ts'
import type { Slot } from './lanes.ts'

/** A delivery for a batch handler, and what the walk does with it once it is known how it went. */
export interface Entering {
  readonly delivery: Delivery
  readonly rules: Rules
  readonly topic: string
  readonly registered: Together
  readonly slot: Slot
  conclude(outcome: Outcome, since?: number): void
  handBack(): void
}

/** One that fits, on its way in a batch. */
export interface Passenger extends Entering {
  readonly event: Batched<unknown>
  readonly priority: Priority | undefined
}
