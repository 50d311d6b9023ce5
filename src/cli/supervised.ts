import type { Millis } from '../core/time.ts'
import { untilSignal } from './signals.ts'

/** What the child that does the work tells its supervisor, and hears from it. */
export type Word = 'serving' | 'begun' | 'started' | 'beat' | 'ended' | 'drain'

/** Set for the child alone. */
export const SUPERVISED = 'REPRIEVE_SUPERVISED'

/** How often a sign of life is sent and looked for: often enough to tell, seldom enough to cost nothing. */
export const beatOf = (stuckAfter: Millis): Millis => Math.min(Math.max(stuckAfter / 20, 50), 1000)

/** How a process that runs services is asked to end, and tells how it is. */
export interface Overseer {
  /** Resolves when it is to drain. */
  readonly asked: () => Promise<void>
  /** All is loaded and opened: from now on it is looked after. */
  serving(stuckAfter: Millis): void
  /** One of its services handles events: what ends it from now on, such as a broker that dies, may be over soon. */
  begun(): void
  /** All have started: what it was told to do can be done. */
  started(): void
  /** It ends because it wants to, well or not. */
  ended(): Promise<void>
}

/** Nobody looks on: signals come to us. */
const nobody: Overseer = {
  asked: untilSignal,
  serving: () => {},
  begun: () => {},
  started: () => {},
  ended: async () => {},
}

/** Whether a supervisor has started this process; what it starts itself is not meant. */
export const isSupervised = (): boolean => process.env[SUPERVISED] !== undefined && process.send !== undefined

export const overseer = (): Overseer => {
  if (!isSupervised()) return nobody
  delete process.env[SUPERVISED]
  let beating: NodeJS.Timeout | undefined
  const tell = (word: Word): Promise<void> =>
    new Promise((resolve) => {
      if (process.connected) process.send!(word, undefined, undefined, () => resolve())
      else resolve()
    })
  return {
    // a signal may come to us as well as to the supervisor, which decides what a second one means
    asked: () =>
      new Promise((resolve) => {
        for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => resolve())
        process.on('message', (word: Word) => word === 'drain' && resolve())
        process.on('disconnect', resolve)
      }),
    serving: (stuckAfter) => {
      void tell('serving')
      beating = setInterval(() => void tell('beat'), beatOf(stuckAfter)).unref()
    },
    begun: () => void tell('begun'),
    started: () => void tell('started'),
    ended: async () => {
      clearInterval(beating)
      await tell('ended')
      if (process.connected) process.disconnect()
    },
  }
}
