import type { Clock } from '../../contracts/tools.ts'
import type { Instant, Millis } from '../../core/time.ts'
import type { Chance } from './chance.ts'

/** Whoever can die or stand still; what it waits for then never comes, or comes later. */
export interface Owner {
  dead: boolean
  pausedUntil: Instant
}

/**
 * Time, and who is next. One task runs at a time, and all that it sets off without waiting runs before the next; of
 * several that are due at one moment chance picks.
 */
export interface Scheduler {
  now(): Instant
  after(ms: Millis, run: () => void, owner?: Owner): Task
  /** A clock for one owner; without one, for the world itself. */
  clockOf(owner?: Owner): Clock
  /** Until `done`, or nothing is left to do, or the time is over. Answers whether it is done. */
  run(done: () => boolean, until: Instant): Promise<boolean>
  /** Tasks that ran so far. */
  readonly steps: number
}

export interface Task {
  readonly at: Instant
  readonly lot: number
  readonly serial: number
  readonly owner: Owner | undefined
  readonly run: () => void
  cancelled: boolean
}

/** 2026-01-01: a date that reads well. */
export const START = Date.UTC(2026, 0, 1)

export const createScheduler = (chance: Chance): Scheduler => {
  const heap = createHeap()
  let now = START
  let serial = 0
  let steps = 0

  const plan = (at: Instant, run: () => void, owner: Owner | undefined): Task => {
    const task = { at, lot: chance.next(), serial: serial++, owner, run, cancelled: false }
    heap.push(task)
    return task
  }
  const after: Scheduler['after'] = (ms, run, owner) => plan(now + Math.max(0, Math.ceil(ms)), run, owner)

  const clockOf = (owner?: Owner): Clock => ({
    now: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (!(ms > 0)) return void after(0, resolve, owner)
        if (signal?.aborted) return resolve()
        const end = () => {
          task.cancelled = true
          signal?.removeEventListener('abort', end)
          resolve()
        }
        const task = after(ms, end, owner)
        signal?.addEventListener('abort', end, { once: true })
      }),
    soon: () => new Promise((resolve) => void after(0, resolve, owner)),
  })

  return {
    now: () => now,
    after,
    clockOf,
    get steps() {
      return steps
    },
    run: async (done, until) => {
      while (!done()) {
        const task = heap.pop()
        if (!task) return false
        if (task.at > until) {
          heap.push(task)
          now = until
          return false
        }
        const { owner } = task
        if (task.cancelled || owner?.dead) continue
        if (owner && owner.pausedUntil > task.at) {
          plan(owner.pausedUntil, task.run, owner)
          continue
        }
        now = task.at
        steps++
        task.run()
        await allThatFollows()
      }
      return true
    },
  }
}

/** Node runs a tick only when no promise has anything left to say. */
const allThatFollows = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve))

const isBefore = (a: Task, b: Task): boolean =>
  a.at !== b.at ? a.at < b.at : a.lot !== b.lot ? a.lot < b.lot : a.serial < b.serial

const createHeap = () => {
  const tasks: Task[] = []
  const swap = (a: number, b: number): void => {
    const kept = tasks[a]!
    tasks[a] = tasks[b]!
    tasks[b] = kept
  }
  return {
    push: (task: Task): void => {
      let at = tasks.push(task) - 1
      while (at > 0) {
        const above = (at - 1) >> 1
        if (!isBefore(tasks[at]!, tasks[above]!)) break
        swap(at, above)
        at = above
      }
    },
    pop: (): Task | undefined => {
      const first = tasks[0]
      const last = tasks.pop()
      if (!first || !last || tasks.length === 0) return first
      tasks[0] = last
      for (let at = 0; ; ) {
        const left = 2 * at + 1
        if (left >= tasks.length) return first
        const right = left + 1
        const least = right < tasks.length && isBefore(tasks[right]!, tasks[left]!) ? right : left
        if (!isBefore(tasks[least]!, tasks[at]!)) return first
        swap(at, least)
        at = least
      }
    },
  }
}
