import type { Clock } from '../contracts/tools.ts'
import type { Instant, Millis } from '../core/time.ts'

/** A clock that stands still until a test turns it. */
export interface VirtualClock extends Clock {
  /**
   * Turns the time on. Sleepers wake in the order they are due, and what each of them wakes runs before the
   * next. With `until` it stops turning as soon as that promise has settled.
   */
  advance(ms: Millis, until?: Promise<unknown>): Promise<void>
  /** Turns the time from sleeper to sleeper until the promise has settled; rejects after `most` of virtual time. */
  runUntil<T>(promise: Promise<T>, options?: { readonly most?: Millis }): Promise<T>
  /** How many sleep at the moment. */
  readonly sleepers: number
}

interface Sleeper {
  readonly due: Instant
  readonly wake: () => void
}

/** 2026-01-01: a date that reads well in a failing test. */
const START = Date.UTC(2026, 0, 1)
/** Turns of the event loop granted to what a sleeper woke: group commits and chains of awaits need a few. */
const TURNS = 8
/** How long, in real time, work that sleeps on nothing of ours (a socket, a file) may keep `runUntil` waiting. */
const PATIENCE = 5_000

/** While it is `busy`, waiting for what sleeps on nothing of ours, such as a server, time stands still. */
export const virtualClock = (start: Instant = START, busy: () => boolean = () => false): VirtualClock => {
  let now = start
  const sleeping: Sleeper[] = []
  /** Two that turn at once take turns: time is one. */
  let turning: Promise<void> = Promise.resolve()

  const sleep = (ms: Millis, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      if (!(ms > 0)) return void setImmediate(resolve)
      if (signal?.aborted) return resolve()
      const sleeper = { due: now + ms, wake: () => end() }
      const end = () => {
        signal?.removeEventListener('abort', end)
        const at = sleeping.indexOf(sleeper)
        if (at >= 0) sleeping.splice(at, 1)
        resolve()
      }
      signal?.addEventListener('abort', end, { once: true })
      const after = sleeping.findIndex((other) => other.due > sleeper.due)
      sleeping.splice(after < 0 ? sleeping.length : after, 0, sleeper)
    })

  const settle = async (): Promise<void> => {
    for (let quiet = 0; quiet < TURNS; quiet = busy() ? 0 : quiet + 1)
      await new Promise((resolve) => setImmediate(resolve))
  }

  const turn = async (ms: Millis, settled: () => boolean): Promise<void> => {
    const target = now + ms
    await settle()
    for (let next = sleeping[0]; next && next.due <= target && !settled(); next = sleeping[0]) {
      now = Math.max(now, next.due)
      next.wake()
      await settle()
    }
    if (settled()) return
    now = Math.max(now, target)
    await settle()
  }

  const advance = (ms: Millis, until?: Promise<unknown>): Promise<void> => {
    const settled = watch(until)
    turning = turning.then(() => turn(ms, settled))
    return turning
  }

  const runUntil = async <T>(promise: Promise<T>, { most = Number.POSITIVE_INFINITY } = {}): Promise<T> => {
    const settled = watch(promise)
    const last = now + most
    let idleSince = performance.now()
    for (await settle(); !settled(); await settle()) {
      const next = sleeping[0]
      if (next && next.due <= last) {
        await advance(next.due - now, promise)
        idleSince = performance.now()
      } else if (next) {
        throw new Error(`still not settled after ${most} ms of virtual time`)
      } else if (performance.now() - idleSince > PATIENCE) {
        throw new Error('still not settled, and nobody sleeps: turning the clock can bring no more')
      }
    }
    return promise
  }

  return {
    now: () => now,
    sleep,
    soon: () => new Promise((resolve) => process.nextTick(resolve)),
    advance,
    runUntil,
    get sleepers() {
      return sleeping.length
    },
  }
}

const watch = (promise: Promise<unknown> | undefined): (() => boolean) => {
  let settled = false
  const note = () => {
    settled = true
  }
  promise?.then(note, note)
  return () => settled
}
