import { Worker } from 'node:worker_threads'
import type { Tools } from '../../contracts/tools.ts'
import type { Millis } from '../../core/time.ts'

export interface Watchdog {
  stop(): Promise<void>
}

/** What the thread says when the event loop has been blocked for too long. */
export interface Blocked {
  readonly ms: Millis
  /** Where it was then, innermost first; empty where that could not be seen. */
  readonly frames: readonly string[]
}

/** How often it looks within the time it is patient. */
const LOOKS = 10

/**
 * A thread of its own that watches the event loop: a handler that blocks it lets nobody run, and nobody could tell. The
 * thread writes to stderr at once; the journal hears of it when the loop is free again, if ever.
 */
export const startWatchdog = (
  after: Millis,
  { clock, journal }: Pick<Tools, 'clock' | 'journal'>,
): Watchdog => {
  const every = Math.max(10, after / LOOKS)
  const beats = new Int32Array(new SharedArrayBuffer(4))
  const beating = setInterval(() => Atomics.add(beats, 0, 1), every).unref()
  // compiled, the thread's file ends as this one does
  const file = new URL(`./watchdog-thread${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url)
  const thread = new Worker(file, { workerData: { beats, every, after }, execArgv: [] })
  thread.on('message', ({ ms, frames }: Blocked) => {
    const error = new Error(`it was blocked for ${ms} ms or longer${frames[0] ? `, at ${frames[0]}` : ''}`)
    journal({ at: clock.now(), is: 'trouble', where: 'the event loop', error })
  })
  thread.on('error', (error) =>
    journal({ at: clock.now(), is: 'trouble', where: 'the watchdog', error: error as Error }),
  )
  // after the listeners: one for messages would hold the process again
  thread.unref()
  return {
    stop: async () => {
      clearInterval(beating)
      await thread.terminate()
    },
  }
}
