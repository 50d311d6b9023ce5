import type { Clock } from '../../contracts/tools.ts'

/** setTimeout takes no more than this; longer sleeps are slept in pieces. */
const LONGEST = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: async (ms, signal) => {
    if (ms <= 0) return nextTurn()
    for (let left = ms; left > 0 && !signal?.aborted; left -= LONGEST)
      await nap(Math.min(left, LONGEST), signal)
  },
  soon: () => new Promise((resolve) => process.nextTick(resolve)),
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

const nap = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal?.addEventListener('abort', end, { once: true })
  })
