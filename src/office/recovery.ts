import type { KeptLetter, LetterFilter } from '../contracts/letters.ts'
import type { DeathReason } from '../core/letter.ts'
import type { Millis } from '../core/time.ts'
import type { RuleBook } from '../rules/index.ts'
import type { Every } from './jobs.ts'
import type { Office } from './office.ts'
import type { ReplayResult } from './quick.ts'

/** Which letters a scheduled recovery sends back. */
export interface Recovery {
  /** At most so many in one run, the oldest first. */
  readonly most: number
  /** A letter whose event was sent back so often already stays where it is. */
  readonly times: number
}

const RECOVERY: Recovery = { most: 1000, times: 3 }

/** What an outage kills, and nothing that a person should look at. */
const REASONS: ReadonlySet<DeathReason> = new Set(['attempts exhausted', 'window exhausted'])
const FILTER: LetterFilter = { category: 'transient', states: ['open'] }
const PAGE = 500

/** Replays letters of transient failures, each event so often at most. */
export const recover = async (
  office: Pick<Office, 'list' | 'replay'>,
  { most, times }: Recovery,
  signal?: AbortSignal,
  as?: string,
): Promise<ReplayResult> => {
  let ids: string[] = []
  let page: readonly KeptLetter[] = []
  do {
    page = await office.list(FILTER, PAGE, page.at(-1)?.letter.id)
    const fit = page.filter(
      ({ letter: { reason, trail } }) => REASONS.has(reason) && trail.generation < times,
    )
    // newest come first: what is kept is the end of it
    ids = [...ids, ...fit.map(({ letter }) => letter.id)].slice(-most)
  } while (page.length === PAGE && !signal?.aborted)
  if (ids.length === 0 || signal?.aborted) return { sent: [], skipped: [] }
  const by = { although: ['re-entry limit'], byRule: true } as const // it has a limit of its own
  return office.replay({ ids, states: ['open'] }, { ...by, ...(as !== undefined && { as }) })
}

/** Letters of transient failures go back by themselves, on a schedule. */
export interface RecoveryOptions extends Partial<Recovery> {
  /** As in a rule book, or in milliseconds. Default: an hour. */
  readonly every?: string | Millis
}

/** Where options or rules switch it on. What the options say comes before the book. */
export const scheduleRecovery = (
  onSchedule: Every,
  office: Pick<Office, 'list' | 'replay'>,
  { recovery: written }: Pick<RuleBook, 'recovery'>,
  option: boolean | RecoveryOptions | undefined,
  process: string,
): void => {
  if (option === false || (option === undefined && !written)) return
  const said = { ...written, ...(typeof option === 'object' && option) }
  const recovery = { most: said.most ?? RECOVERY.most, times: said.times ?? RECOVERY.times }
  onSchedule(said.every ?? '1h', 'recovery', ({ signal }) =>
    recover(office, recovery, signal, `recovery job of ${process}`),
  )
}
