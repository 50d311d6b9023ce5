import { shareOf, TURNS } from '../core/rank.ts'
import type { Solo } from './solo.ts'

/**
 * Work side by side, at most `width` at once. Works of the same lane run one after another, in the order they
 * came; those without a lane are free. Fast work goes before the rest, and fresh work before retries: while fresh work
 * waits, retries have a fifth of the slots at most, and one turn in five, so that neither waits for ever.
 */
export interface Lanes {
  add(work: Work): void
  /** Resolves when nothing is running or waiting. */
  idle(): Promise<void>
  /** Takes out what has not begun. */
  clear(): readonly Work[]
}

export interface Work {
  readonly lane: string | undefined
  readonly fast: boolean
  /** It must run with nothing beside it, in any lanes of this process. */
  readonly alone?: boolean
  /** It was tried before. */
  readonly retry?: boolean
  /** Shared with others of its kind: no more of them at once. */
  readonly cap?: Cap | undefined
  /** Must not throw, and tells its slot when it is through: at once, or later. */
  run(slot: Slot): void
}

/** So many at once of the works that share it; the rest is parked, and holds no slot. */
export interface Cap {
  readonly most: number
  running: number
  readonly parked: Work[]
}

export const createCap = (most: number): Cap => ({ most, running: 0, parked: [] })

/** What a work is given. Callbacks rather than a promise: there are thousands a second. */
export interface Slot {
  /** The handler is through. What is left, to be settled, needs no slot, but its lane waits for it still. */
  handled(): void
  /** All is through; `handled` may have been called before or not. To say it twice is harmless. */
  ended(): void
}

/** `gathered`: so many of those that run wait for others, to be handled together: nothing is done for them now. */
export const createLanes = (width: number, solo?: Solo, gathered: () => number = () => 0): Lanes => {
  const suspects = createQueue()
  const fast = createQueue()
  const calm = createQueue()
  const again = createQueue()
  const caps = new Set<Cap>()
  /** So many slots may retries have while fresh work waits. */
  const share = shareOf(width)
  let retrying = 0
  /** Fresh works begun since the last retry. */
  let fresh = 0
  /** What waits behind the running work of a lane. */
  const behind = new Map<string, Work[]>()
  const waiters: (() => void)[] = []
  let running = 0
  let slots = width
  let filling = false

  const next = (): Work | undefined => {
    for (;;) {
      const work = fast.take() ?? (isRetrysTurn() ? again : calm).take()
      if (!work?.cap || work.cap.running < work.cap.most) return work
      work.cap.parked.push(work)
      caps.add(work.cap)
    }
  }

  const isRetrysTurn = (): boolean =>
    again.size() > 0 && (calm.size() === 0 || (retrying < share && fresh >= TURNS - 1))

  const begin = (work: Work): void => {
    running++
    slots--
    if (work.cap) work.cap.running++
    if (!isRetry(work)) fresh++
    else {
      retrying++
      fresh = 0
    }
    work.run(slotFor(work))
  }

  const free = (work: Work): void => {
    slots++
    if (isRetry(work)) retrying--
    if (!work.cap) return
    work.cap.running--
    const parked = work.cap.parked.shift()
    if (parked) queueOf(parked).putFirst(parked)
  }

  /** Works that end at once come back here while it still goes round: it is left to the one that began. */
  const fill = (): void => {
    if (filling) return
    filling = true
    while (slots > 0 && !solo?.closed) {
      const work = next()
      if (!work) break
      begin(work)
    }
    filling = false
    if (running === 0) for (const wake of waiters.splice(0)) wake()
    if (solo && (solo.closed || suspects.size() > 0)) solo.look()
  }

  const slotFor = (work: Work): Slot => {
    let holds = true
    let through = false
    const handled = (): void => {
      if (!holds) return
      holds = false
      free(work)
      fill()
    }
    const ended = (): void => {
      if (through) return
      through = true
      running--
      if (work.lane !== undefined) {
        const follower = behind.get(work.lane)?.shift()
        if (follower) enqueue(follower)
        else behind.delete(work.lane)
      }
      if (holds) handled()
      else fill()
    }
    return { handled, ended }
  }

  const queueOf = (work: Work) =>
    work.alone && solo ? suspects : work.fast ? fast : work.retry ? again : calm
  const enqueue = (work: Work): void => queueOf(work).push(work)

  solo?.join({
    hasSuspect: () => suspects.size() > 0,
    hasOthers: () => fast.size() + calm.size() + again.size() > 0,
    doing: () => (slots < width ? 'handling' : running > gathered() ? 'settling' : 'nothing'),
    runSuspect: () => begin(suspects.take()!),
    goOn: fill,
  })

  return {
    add: (work) => {
      const queue = work.lane === undefined ? undefined : behind.get(work.lane)
      if (queue) queue.push(work)
      else {
        if (work.lane !== undefined) behind.set(work.lane, [])
        enqueue(work)
        fill()
      }
    },
    idle: () => (running === 0 ? Promise.resolve() : new Promise((resolve) => waiters.push(resolve))),
    clear: () => {
      const waiting = [
        ...suspects.clear(),
        ...fast.clear(),
        ...calm.clear(),
        ...again.clear(),
        ...[...caps].flatMap(({ parked }) => parked.splice(0)),
        ...[...behind.values()].flatMap((queue) => queue.splice(0)),
      ]
      solo?.look()
      return waiting
    },
  }
}

/** One that is urgent has the fast lane, and no share to keep to. */
const isRetry = ({ retry, fast }: Work): boolean => retry === true && !fast

/** First in, first out; what is taken is let go of at once, and the list only when it is through. */
const createQueue = () => {
  let works: (Work | undefined)[] = []
  let head = 0
  const clear = (): readonly Work[] => {
    const waiting = works.slice(head) as Work[]
    works = []
    head = 0
    return waiting
  }
  return {
    push: (work: Work): void => void works.push(work),
    putFirst: (work: Work): void => {
      if (head > 0) works[--head] = work
      else works.unshift(work)
    },
    size: (): number => works.length - head,
    take: (): Work | undefined => {
      const work = works[head]
      if (!work) return undefined
      works[head++] = undefined
      if (head === works.length || head === LONGEST_TAIL) works = [...clear()]
      return work
    },
    clear,
  }
}

const LONGEST_TAIL = 10_000
