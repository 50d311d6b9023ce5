import type { Solo } from './solo.ts'

/**
 * Work side by side, at most `width` at once. Works of the same lane run one after another, in the order they
 * came; those without a lane are free. Fast work goes before the rest.
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
  /** Must not throw, and tells its slot when it is through: at once, or later. */
  run(slot: Slot): void
}

/** What a work is given. Callbacks rather than a promise: there are thousands a second. */
export interface Slot {
  /** The handler is through. What is left, to be settled, needs no slot, but its lane waits for it still. */
  handled(): void
  /** All is through; `handled` may have been called before or not. */
  ended(): void
}

export const createLanes = (width: number, solo?: Solo): Lanes => {
  const suspects = createQueue()
  const fast = createQueue()
  const calm = createQueue()
  /** What waits behind the running work of a lane. */
  const behind = new Map<string, Work[]>()
  const waiters: (() => void)[] = []
  let running = 0
  let slots = width
  let filling = false

  const next = (): Work | undefined => fast.take() ?? calm.take()

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

  const begin = (work: Work): void => {
    running++
    slots--
    work.run(slotFor(work))
  }

  const slotFor = (work: Work): Slot => {
    let holds = true
    const handled = (): void => {
      if (!holds) return
      holds = false
      slots++
      fill()
    }
    const ended = (): void => {
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

  const enqueue = (work: Work): void => {
    if (work.alone && solo) suspects.push(work)
    else if (work.fast) fast.push(work)
    else calm.push(work)
  }

  solo?.join({
    hasSuspect: () => suspects.size() > 0,
    hasOthers: () => fast.size() + calm.size() > 0,
    doing: () => (slots < width ? 'handling' : running > 0 ? 'settling' : 'nothing'),
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
        ...[...behind.values()].flatMap((queue) => queue.splice(0)),
      ]
      solo?.look()
      return waiting
    },
  }
}

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
