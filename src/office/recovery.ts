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
  /** A letter that died for another reason stays where it is. */
  readonly reasons: readonly RecoveredReason[]
}

/** What an outage kills, and nothing that a person should look at. */
export type RecoveredReason = Extract<DeathReason, 'attempts exhausted' | 'window exhausted'>

const RECOVERY: Recovery = { most: 1000, times: 3, reasons: ['attempts exhausted', 'window exhausted'] }
const FILTER: LetterFilter = { category: 'transient', states: ['open'] }
const PAGE = 500

/** Replays letters of transient failures, each event so often at most. */
export const recover = async (
  office: Pick<Office, 'list' | 'replay'>,
  { most, times, reasons }: Recovery,
  signal?: AbortSignal,
  as?: string,
): Promise<ReplayResult> => {
  const wanted: ReadonlySet<DeathReason> = new Set(reasons)
  let ids: string[] = []
  let page: readonly KeptLetter[] = []
  do {
    page = await office.list(FILTER, PAGE, page.at(-1)?.letter.id)
    const fit = page.filter(({ letter: { reason, trail } }) => wanted.has(reason) && trail.generation < times)
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
  const { most = RECOVERY.most, times = RECOVERY.times, reasons = RECOVERY.reasons } = said
  const recovery = { most, times, reasons }
  onSchedule(said.every ?? '1h', 'recovery', ({ signal }) =>
    recover(office, recovery, signal, `recovery job of ${process}`),
  )
}
