import { ReprieveError } from './error.ts'

/** How many are remembered: an outage leaves one for each claim that was under way. */
const MOST = 1000

/**
 * A claim may have been made though its answer was lost with the connection. Nobody works under it, so the same
 * process gets it when it asks again; else the event would wait for the end of a lease, and look like a crash.
 */
export interface Unanswered {
  readonly holders: ReadonlySet<string>
  /** Makes a claim under a name of its own, which is remembered where no answer came. */
  claim<T>(work: (holder: string) => Promise<T>): Promise<T>
}

export const createUnanswered = (mint: () => string): Unanswered => {
  const holders = new Set<string>()
  return {
    holders,
    claim: async (work) => {
      const holder = mint()
      try {
        return await work(holder)
      } catch (error) {
        if (error instanceof ReprieveError && error.code === 'unavailable') holders.add(holder)
        if (holders.size > MOST) for (const [oldest] of holders.entries().take(1)) holders.delete(oldest)
        throw error
      }
    },
  }
}
