import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect } from 'vitest'

/** Lets go at once of all that nobody holds. */
export const collect = (): void => {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  gc()
}

/** Waits until nobody holds any of them: what was only refused, and is kept all the same, is a leak. */
export const expectCollected = async (refs: readonly WeakRef<object>[]): Promise<void> => {
  const held = () => {
    collect()
    return refs.filter((ref) => ref.deref() !== undefined).length
  }
  await expect.poll(held, { timeout: 10_000 }).toBe(0)
}
