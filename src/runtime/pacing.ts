import type { Board } from '../contracts/board.ts'
import type { Fact, Journal } from '../contracts/journal.ts'
import type { Tools } from '../contracts/tools.ts'
import type { Json } from '../core/json.ts'
import { NO_PACE, type Pace, paceEntry } from '../core/pace.ts'
import type { Instant, Millis } from '../core/time.ts'

type Counting = { -readonly [Name in keyof Pace]: Pace[Name] }

/** Counts what services do, for alerts: by the facts they leave anyway. */
export interface Pacing {
  readonly journal: Journal
  /** Tells the board now and then, where there is something to tell. */
  report(board: Board, process: string): Promise<void>
}

const REPORT_EVERY: Millis = 15_000
/** Said again though nothing is new, so that it does not run out: who compares must not take it for a new process. */
const REPORT_AGAIN: Millis = 10 * 60_000
const REPORT_LASTS: Millis = 60 * 60_000

export const createPacing = ({ clock, journal }: Pick<Tools, 'clock' | 'journal'>): Pacing => {
  const services = new Map<string, Counting>()
  // facts of one service come in rows
  let lastName = ''
  let last: Counting = { ...NO_PACE }
  let news = false
  let reported: Instant | undefined

  const of = (service: string): Counting => {
    if (service === lastName) return last
    last = services.get(service) ?? { ...NO_PACE }
    lastName = service
    services.set(service, last)
    return last
  }

  const count = (fact: Fact): void => {
    switch (fact.is) {
      case 'done':
      case 'failed':
        of(fact.service).attempts++
        break
      case 'retry':
        of(fact.service).retries++
        break
      case 'duplicate':
        of(fact.service).duplicates++
        break
      case 'batch':
      case 'batch failed': {
        const pace = of(fact.service)
        pace.batches++
        if (fact.timedOut) pace.batchTimeouts++
        if (fact.is === 'batch failed' && fact.critical) pace.criticalBatches++
        break
      }
      default:
        return
    }
    news = true
  }

  return {
    journal: (fact) => {
      count(fact)
      journal(fact)
    },
    report: async (board, process) => {
      const now = clock.now()
      reported ??= now
      const patience = news ? REPORT_EVERY : REPORT_AGAIN
      if (services.size === 0 || Math.abs(now - reported) < patience) return
      news = false
      reported = now
      await board.post(paceEntry(process), { ...Object.fromEntries(services) } as Json, REPORT_LASTS)
    },
  }
}
