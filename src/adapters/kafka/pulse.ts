import type { Instant } from '../../core/time.ts'
import type { Consumer } from './client.ts'
import type { Wire } from './wire.ts'

/** What heartbeats tell: while they are answered, partitions are ours. */
export interface Pulse {
  /** None was answered for a session: by now all may be someone else's. The next one tells. */
  readonly isLost: boolean
  /** The broker has said by something else that we live. */
  felt(): void
}

export interface PulseEvents {
  /** It was lost, and is there again. */
  onBack(): void
  /** `isFirst`: since one was answered. */
  onFailed(error: Error, isFirst: boolean): void
}

export const pulseOf = (
  consumer: Consumer,
  { settings: { session }, tools: { clock } }: Wire,
  { onBack, onFailed }: PulseEvents,
): Pulse => {
  /** When the last heartbeat that was answered was sent; and the one that is under way. */
  let beat = clock.now()
  let beating: Instant | undefined
  let faint = false
  const isLost = () => clock.now() - beat >= session

  consumer.on('consumer:heartbeat:start', () => {
    beating = clock.now()
  })
  consumer.on('consumer:heartbeat:end', () => {
    const late = isLost()
    // of a process that was stopped meanwhile the answer says nothing about now
    beat = beating ?? clock.now()
    faint = false
    if (late) onBack()
  })
  consumer.on('consumer:heartbeat:error', ({ error }) => {
    const isFirst = !faint
    faint = true
    onFailed(error, isFirst)
  })

  return {
    get isLost() {
      return isLost()
    },
    felt: () => {
      beat = clock.now()
    },
  }
}
