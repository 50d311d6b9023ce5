import type { Clock } from '../../contracts/tools.ts'
import type { Millis } from '../../core/time.ts'
import type { Withheld } from './topics.ts'

/** What a consumer group goes on without, until brokers show it again. */
export interface Withholding {
  has(topic: string): boolean
  readonly any: boolean
  /** Makes sure of all others; `anew`: even where that was seen before. */
  ensure(anew: boolean): Promise<void>
}

/** A broker that has just started may not know its topics yet: nobody gives up partitions for that. */
const SURE: Millis = 3_000

export interface WithholdingOptions {
  readonly clock: Clock
  look(anew: boolean): Promise<Withheld>
  /** Once for each, until it was there again. */
  tell(topic: string, why: Error): void
}

export const withholding = ({ clock, look, tell }: WithholdingOptions): Withholding => {
  let known: Withheld = new Map()
  const isNews = (found: Withheld) => [...found.keys()].some((topic) => !known.has(topic))
  return {
    has: (topic) => known.has(topic),
    get any() {
      return known.size > 0
    },
    ensure: async (anew) => {
      let found = await look(anew)
      if (isNews(found)) {
        await clock.sleep(SURE)
        found = await look(false)
      }
      for (const [topic, why] of found) if (!known.has(topic)) tell(topic, why)
      known = found
    },
  }
}
