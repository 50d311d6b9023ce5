import { systemClock } from '../src/adapters/system/clock.ts'

/** Well beyond what a busy machine needs, and within the time that a test has. */
const PATIENCE = 100_000

type Found<T> = Exclude<T, undefined | null | false>

/** Waits for the thing itself and answers with it; `what` is told where it never comes. */
export const until = async <T>(what: string, look: () => Promise<T> | T): Promise<Found<T>> => {
  const end = Date.now() + PATIENCE
  for (;;) {
    const found = await look()
    if (found) return found as Found<T>
    if (Date.now() > end) throw new Error(`waited ${PATIENCE / 1000} s for ${what}`)
    await systemClock.sleep(50)
  }
}
