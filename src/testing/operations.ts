import type { Clock, Dice } from '../contracts/tools.ts'
import { Transient } from '../core/errors.ts'
import type { Millis } from '../core/time.ts'

/** An operation that goes wrong as told, and how often it was called. */
export interface Faulty<Args extends readonly unknown[], T> {
  (...args: Args): Promise<T>
  readonly calls: number
}

// biome-ignore lint/suspicious/noExplicitAny: an operation may take anything
type Operation<Args extends readonly any[], T> = (...args: Args) => Promise<T> | T

const nothing = (): undefined => undefined

/** Fails so many times, then does as `then` does: nothing, unless told. */
// biome-ignore lint/suspicious/noExplicitAny: without an operation of its own it may be called with anything
export const failing = <Args extends readonly any[] = any[], T = undefined>(
  times: number,
  error: unknown = new Transient('failing on purpose'),
  then: Operation<Args, T> = nothing as Operation<Args, T>,
): Faulty<Args, T> =>
  counted(then, async (go, call) => {
    if (call <= times) throw error
    return go()
  })

/** Fails by dice: `share` of the calls, from 0 to 1. */
// biome-ignore lint/suspicious/noExplicitAny: without an operation of its own it may be called with anything
export const flaky = <Args extends readonly any[] = any[], T = undefined>(
  share: number,
  dice: Pick<Dice, 'next'>,
  error: unknown = new Transient('flaky on purpose'),
  then: Operation<Args, T> = nothing as Operation<Args, T>,
): Faulty<Args, T> =>
  counted(then, async (go) => {
    if (dice.next() < share) throw error
    return go()
  })

/** Takes its time by the clock first. A signal among its arguments, or in a context, ends that with its reason. */
// biome-ignore lint/suspicious/noExplicitAny: without an operation of its own it may be called with anything
export const slow = <Args extends readonly any[] = any[], T = undefined>(
  ms: Millis,
  clock: Clock,
  then: Operation<Args, T> = nothing as Operation<Args, T>,
): Faulty<Args, T> =>
  counted(then, async (go, _, args) => {
    const signal = signalIn(args)
    await clock.sleep(ms, signal)
    signal?.throwIfAborted()
    return go()
  })

/** Never answers, whatever its signal says. */
// biome-ignore lint/suspicious/noExplicitAny: it may be called with anything
export const hanging = <Args extends readonly any[] = any[]>(): Faulty<Args, never> =>
  counted<Args, never>(neverAsked, () => new Promise<never>(() => {}))

const neverAsked = (): never => {
  throw new Error('what hangs goes no further')
}

const counted = <Args extends readonly unknown[], T>(
  then: Operation<Args, T>,
  run: (go: () => Promise<T> | T, call: number, args: Args) => Promise<T>,
): Faulty<Args, T> => {
  let calls = 0
  const operation = (...args: Args): Promise<T> => run(() => then(...args), ++calls, args)
  return Object.defineProperty(operation, 'calls', { get: () => calls }) as Faulty<Args, T>
}

const signalIn = (args: readonly unknown[]): AbortSignal | undefined => {
  for (const arg of args) {
    if (arg instanceof AbortSignal) return arg
    const own = (arg as { signal?: unknown } | null | undefined)?.signal
    if (own instanceof AbortSignal) return own
  }
  return undefined
}
