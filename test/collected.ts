import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect } from 'vitest'

/** Waits until nobody holds any of them: what was only refused, and is kept all the same, is a leak. */
export const expectCollected = async (refs: readonly WeakRef<object>[]): Promise<void> => {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  const held = () => {
    gc()
    return refs.filter((ref) => ref.deref() !== undefined).length
  }
  await expect.poll(held, { timeout: 10_000 }).toBe(0)
}
