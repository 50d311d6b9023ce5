import type { Contender } from '../harness.ts'

/** What is guarded: it answers in the next microtask, so that little but the guarding is measured. */
export type Work = () => Promise<number>
export type Call = (work: Work) => Promise<number>

/** For each of them: 3 attempts, 5 failures in a row open for 30 s, and one second for an attempt. */
export const ATTEMPTS = 3
export const INITIAL = 100
export const FAILURES = 5
export const OPEN = 30_000
export const TIMEOUT = 1000

/** A process that also serves others gives the event loop back now and then. */
const CALLS_A_TURN = 1000

export interface Guarded {
  readonly call: Call
  close?(): void
}

/** Calls one after the other, all of which succeed, each with an answer of its own. */
export const calling = (about: Omit<Contender, 'prepare'>, open: (work: Work) => Guarded): Contender => ({
  ...about,
  prepare: async (events) => {
    let worked = 0
    const work: Work = async () => worked++
    const { call, close } = open(work)
    return {
      run: async () => {
        let answered = 0
        for (let i = 0; i < events; i++) {
          if ((await call(work)) === i) answered++
          if (i % CALLS_A_TURN === 0) await new Promise((resolve) => setImmediate(resolve))
        }
        return { events: worked === events ? answered : Number.NaN }
      },
      close: async () => close?.(),
    }
  },
})
