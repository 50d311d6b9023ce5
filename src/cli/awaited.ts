import type { Millis } from '../core/time.ts'

export interface Waiting {
  /** After so long it is told that it has not come. It may come all the same. */
  readonly patience: Millis
  readonly late: () => void
  /** Nothing is left that could bring it, and Node would end without a word. */
  readonly never: () => Error
}

/** Waits for what others promised, which may never come. */
export const awaited = <T>(coming: Promise<T>, { patience, late, never }: Waiting): Promise<T> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(late, patience).unref()
    const emptied = (): void => {
      end()
      reject(never())
    }
    const end = (): void => {
      clearTimeout(timer)
      process.off('beforeExit', emptied)
    }
    process.on('beforeExit', emptied)
    coming.finally(end).then(resolve, reject)
  })
