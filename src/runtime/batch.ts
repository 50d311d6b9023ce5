import type { Batch } from '../rules/index.ts'
import type { Deadlines } from './deadline.ts'

/** Why a batch left: it was full, its time was over, or its one event had to be by itself. */
export type Departure = 'full' | 'timeout' | 'alone'

/**
 * Gathers things into batches. A batch leaves when it is full, or when its timeout is over since its first one came; of
 * one batcher so many run at once, and what waits for a turn goes on filling.
 */
export interface Gathering<T> {
  /** Things with the same key share a batch, where the batcher is the same. */
  add(thing: T, batcher: string, batch: Batch, key: string): void
  /** In a batch of its own, which leaves at once. */
  alone(thing: T, batcher: string, batch: Batch): void
  /** Takes out what has not left; from now on whatever is added comes out here at once. */
  close(dropped: (thing: T) => void): void
  /** How many have come and not begun. */
  readonly size: number
  /** How many batches are under way. */
  readonly running: number
  /** What may begin is begun: they were held back, and no longer are. */
  goOn(): void
}

interface Open<T> {
  readonly things: T[]
  readonly key: string | undefined
  departs: Departure | undefined
  stopWatch: () => void
}

interface Batcher<T> {
  readonly batch: Batch
  readonly open: Map<string, Open<T>>
  /** Those whose turn it is, first come first served; the ones that are not full are in `open` as well. */
  queue: Open<T>[]
  running: number
}

/** Must not throw; calls `ended` once, when its turn is over. */
export type Run<T> = (things: readonly T[], batch: Batch, departs: Departure, ended: () => void) => void

export const createGathering = <T>(
  deadlines: Deadlines,
  run: Run<T>,
  mayBegin: () => boolean = () => true,
): Gathering<T> => {
  const batchers = new Map<string, Batcher<T>>()
  let drop: ((thing: T) => void) | undefined
  let size = 0
  let running = 0

  const batcherOf = (name: string, batch: Batch): Batcher<T> => {
    let batcher = batchers.get(name)
    if (!batcher) {
      batcher = { batch, open: new Map(), queue: [], running: 0 }
      batchers.set(name, batcher)
    }
    return batcher
  }

  const depart = (batcher: Batcher<T>, open: Open<T>, departs: Departure): void => {
    open.stopWatch()
    if (departs !== 'timeout' && open.key !== undefined) batcher.open.delete(open.key)
    if (open.departs === undefined) batcher.queue.push(open)
    open.departs = departs
    fill(batcher)
  }

  const fill = (batcher: Batcher<T>): void => {
    while (batcher.running < batcher.batch.concurrency && mayBegin()) {
      const next = batcher.queue.shift()
      if (!next) return
      if (next.key !== undefined && batcher.open.get(next.key) === next) batcher.open.delete(next.key)
      batcher.running++
      running++
      size -= next.things.length
      run(next.things, batcher.batch, next.departs!, () => {
        batcher.running--
        running--
        fill(batcher)
      })
    }
  }

  return {
    get size() {
      return size
    },
    get running() {
      return running
    },
    goOn: () => {
      for (const batcher of batchers.values()) fill(batcher)
    },
    add: (thing, name, batch, key) => {
      if (drop) return drop(thing)
      size++
      const batcher = batcherOf(name, batch)
      let open = batcher.open.get(key)
      if (!open) {
        const begun: Open<T> = { things: [], key, departs: undefined, stopWatch: nothing }
        batcher.open.set(key, begun)
        if (batch.size > 1) {
          begun.stopWatch = deadlines.watch(batch.timeout, undefined, () => depart(batcher, begun, 'timeout'))
        }
        open = begun
      }
      open.things.push(thing)
      if (open.things.length >= batch.size) depart(batcher, open, 'full')
    },
    alone: (thing, name, batch) => {
      if (drop) return drop(thing)
      size++
      const by = { things: [thing], key: undefined, departs: undefined, stopWatch: nothing }
      depart(batcherOf(name, batch), by, 'alone')
    },
    close: (dropped) => {
      drop = dropped
      for (const { open, queue } of batchers.values()) {
        const left = new Set([...queue.splice(0), ...open.values()])
        open.clear()
        for (const { things, stopWatch } of left) {
          stopWatch()
          size -= things.length
          for (const thing of things) dropped(thing)
        }
      }
    },
  }
}

const nothing = (): void => {}
