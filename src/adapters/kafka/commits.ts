import type { Clock } from '../../contracts/tools.ts'
import type { Millis } from '../../core/time.ts'
import type { Tenure } from './holding.ts'
import { encodeMark } from './marks.ts'
import type { Committed, Membership, Offsets } from './offsets.ts'

/** How the last commit of each tenure went. One that is missing was no longer ours. */
export type Outcomes = ReadonlyMap<Tenure, Committed>

export interface Commits {
  /** Commits what is finished, in one request with whatever else has come in since the last one was sent. */
  flush(tenures: Iterable<Tenure>): Promise<Outcomes>
  /**
   * Commits in another way, while no other commit is under way; fenced where there is no membership. Error: also where its
   * turn did not come in time, and then it never does.
   */
  alone(commit: (as: Membership, out: (tenure: Tenure) => number) => Promise<Committed>): Promise<Committed>
}

interface State {
  readonly clock: Clock
  steady(): Promise<void>
  membership(): Membership | undefined
  /** How many of its unfinished records may be out until the next commit. */
  out(tenure: Tenure): number
}

/** For all that comes before it: other commits, and a rebalance. */
export const TURN: Millis = 30_000
/** A reason of our own: without one each abort makes an error with a stack. */
const BEGUN = 'begun'

export const commitsOf = (offsets: Offsets, { clock, steady, membership, out }: State): Commits => {
  let dirty = new Set<Tenure>()
  let last: Promise<unknown> = Promise.resolve()
  let next: Promise<Outcomes> | undefined

  const write = async (): Promise<Outcomes> => {
    await steady()
    const tenures = [...dirty].filter(({ over }) => !over)
    dirty = new Set()
    next = undefined
    const as = membership()
    if (tenures.length === 0 || !as) return new Map()
    return commitAll(offsets, tenures, out, as)
  }
  return {
    flush: (tenures) => {
      for (const each of tenures) dirty.add(each)
      if (!next) {
        next = last.then(write)
        last = next.catch(() => {}) // told to whoever asked for that one; the next goes on
      }
      return next
    },
    alone: (commit) => {
      const begun = new AbortController()
      let late: Error | undefined
      const work = last.then(async (): Promise<Committed> => {
        await steady()
        // whoever asked for it was told so, and asks again
        if (late) return late
        begun.abort(BEGUN)
        const as = membership()
        return as ? commit(as, out) : 'fenced'
      })
      last = work.catch(() => {}) // told to whoever asked for it; the next goes on
      const patience = clock.sleep(TURN, begun.signal).then(() => {
        if (begun.signal.aborted) return work
        late = new Error(`its turn did not come within ${TURN} ms`)
        return late
      })
      return Promise.race([work, patience])
    },
  }
}

export const commitAll = async (
  offsets: Offsets,
  tenures: readonly Tenure[],
  out: (tenure: Tenure) => number,
  as: Membership,
): Promise<Outcomes> => {
  const commits = tenures.map((each) => {
    const { offset, done } = each.progress()
    const { topic, partition, topicId: of } = each
    return { topic, partition, offset, text: encodeMark({ out: out(each), done, of }, offset) }
  })
  const answers = await offsets.commit(commits, as)
  return new Map(
    tenures.map((each, i) => {
      if (answers[i] === 'done') each.committed = commits[i]!.offset
      return [each, answers[i]!]
    }),
  )
}
