import type { Retending } from '../contracts/groups.ts'
import type { Counted, KeptLetter, LetterFilter, Letters } from '../contracts/letters.ts'
import type { Tools } from '../contracts/tools.ts'
import type { Details } from '../core/audit.ts'
import { ReprieveError } from '../core/error.ts'
import { fingerprintAnew, isOutdated, THIS_VERSION } from '../core/group.ts'
import { checkFilter } from '../core/sift.ts'
import { iso, type Millis } from '../core/time.ts'
import { A_DURATION, readDuration } from '../rules/duration.ts'
import { emptyBook, type RuleBook, rulesFor } from '../rules/index.ts'
import type { Acting, createActor } from './acting.ts'
import { byHurt, describeGroups, HOUR, hourly, type LetterGroup } from './groups.ts'
import { type Stats, statsOf } from './stats.ts'

/** Finding the causes among the letters. */
export interface Finding {
  /** The newest first, a page at a time; letters that arrive meanwhile change nothing on the pages that follow. */
  find(filter?: LetterFilter, options?: { readonly limit?: number; readonly after?: string }): Promise<Found>
  /** What hurts most first. Without `all` only groups that have letters not at an end. */
  groups(options?: GroupOptions): Promise<readonly LetterGroup[]>
  /** One group, by its fingerprint or the beginning of it, with its arrivals by the hour, the newest last. */
  group(fingerprint: string): Promise<LetterGroup & { readonly trend: readonly number[] }>
  stats(): Promise<Stats>
  /** Says who is on it and what is known; what is not named stays, and null takes it away. From then on it is not new. */
  tend(fingerprint: string, tending: TendOptions, by?: Acting): Promise<LetterGroup>
  /**
   * Groups anew what earlier versions of the fingerprint grouped; what later ones grouped stays. A job does it once a minute,
   * too: letters of older processes, and those that are brought, come at any time. Answers how many letters were moved.
   */
  regroup(signal?: AbortSignal): Promise<number>
}

export interface Found extends Counted {
  readonly letters: readonly KeptLetter[]
  /** Where the next page goes on; absent: this is the last. */
  readonly next?: string
}

export interface GroupOptions {
  readonly service?: string
  readonly all?: boolean
}

export interface TendOptions extends Pick<Retending, 'owner' | 'note' | 'ticket'> {
  /** For so long it need not be looked at: as in a rule book, or in milliseconds. */
  readonly snooze?: string | Millis | null
}

const MOST_COUNTED = 10_000
/** All of them: tallies are read of every group, too. */
const MOST_GROUPS = 2 ** 31 - 1
const SOME = 200
const TREND = 24
const MOST_TEXT = 2000
const ASK_GROUPS = 'take one from `reprieve dlq groups --all`'

export const createFinding = (
  letters: Letters,
  { clock }: Tools,
  actor: ReturnType<typeof createActor>,
  book: RuleBook = emptyBook,
): Finding => {
  const { groups } = letters
  const criticalityOf = (service: string, type: string) => rulesFor(book, service, type).criticality

  const list = async (): Promise<readonly LetterGroup[]> => {
    const now = clock.now()
    const [kept, tallies, arrivals] = await Promise.all([
      groups.list('', MOST_GROUPS),
      groups.tallies(),
      groups.arrivals(now - 2 * HOUR),
    ])
    return describeGroups(kept, { tallies, arrivals, now, criticalityOf })
  }

  const named = async (beginning: string) => {
    if (beginning.trim() === '')
      throw new ReprieveError('bad_usage', 'the fingerprint of a group is empty', { fix: ASK_GROUPS })
    const [first, second] = await groups.list(beginning, 2)
    if (!first) {
      throw new ReprieveError('unknown_group', `no group's fingerprint begins with '${beginning}'`, {
        fix: ASK_GROUPS,
      })
    }
    if (!second) return first
    const [exact] = (await groups.list(beginning, MOST_GROUPS)).filter(
      ({ fingerprint }) => fingerprint === beginning,
    )
    if (exact) return exact
    throw new ReprieveError(
      'bad_usage',
      `several groups have a fingerprint that begins with '${beginning}'`,
      {
        fix: `type more of it: ${first.fingerprint}, ${second.fingerprint}`,
      },
    )
  }

  const group = async (beginning: string) => {
    const kept = await named(beginning)
    const now = clock.now()
    const [tallies, arrivals] = await Promise.all([
      groups.tallies(kept.fingerprint),
      groups.arrivals(now - TREND * HOUR, kept.fingerprint),
    ])
    const [described] = describeGroups([kept], { tallies, arrivals, now, criticalityOf })
    return { ...described!, trend: hourly(arrivals, now, TREND) }
  }

  return {
    find: async (filter = {}, { limit = 50, after } = {}) => {
      checkFilter(filter)
      const [page, counted] = await Promise.all([
        letters.find(filter, limit + 1, after),
        letters.countUpTo(filter, MOST_COUNTED),
      ])
      const shown = page.slice(0, limit)
      const last = shown.at(-1)
      return { ...counted, letters: shown, ...(page.length > limit && last && { next: last.letter.id }) }
    },
    groups: async ({ service, all = false } = {}) =>
      (await list())
        .filter(({ open }) => all || open > 0)
        .filter(({ services }) => service === undefined || services.includes(service))
        .sort(byHurt),
    group,
    stats: async () => statsOf(letters, await list(), clock.now()),
    tend: async (beginning, { snooze, ...said }, by = {}) => {
      for (const [name, text] of Object.entries(said)) checkText(name, text)
      const { fingerprint } = await named(beginning)
      const now = clock.now()
      const until =
        snooze === undefined ? {} : { snoozedUntil: snooze === null ? null : now + lasting(snooze) }
      const tending = { ...said, ...until }
      // the audit is for people: its times are texts
      const text = typeof until.snoozedUntil === 'number' ? { snoozedUntil: iso(until.snoozedUntil) } : until
      const act = {
        ...actor(by, 'tend', { said: { ...said, ...text } as Details }),
        target: `group ${fingerprint}`,
        count: 1,
      }
      await groups.tend(fingerprint, tending, now, act)
      return group(fingerprint)
    },
    regroup: async (signal) => {
      let moved = 0
      const others = await groups.list('', MOST_GROUPS, THIS_VERSION)
      for (const { fingerprint } of others.filter((other) => isOutdated(other.fingerprint))) {
        for (let some = SOME; some === SOME && !signal?.aborted; moved += some) {
          some = await groups.regroup(fingerprint, fingerprintAnew, SOME)
          await clock.sleep(0) // nobody else is kept waiting
        }
      }
      return moved
    },
  }
}

const checkText = (name: string, text: unknown): void => {
  if (text === undefined || text === null || (typeof text === 'string' && text.length <= MOST_TEXT)) return
  throw new ReprieveError('bad_usage', `${name} must be a text of at most ${MOST_TEXT} characters`)
}

const lasting = (snooze: string | Millis): Millis => {
  const ms = typeof snooze === 'string' ? readDuration(snooze) : snooze
  if (ms !== undefined && ms > 0) return ms
  throw new ReprieveError('bad_usage', `snooze: '${snooze}' is not ${A_DURATION}`)
}
