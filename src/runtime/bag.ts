/**
 * Things that come and go by the thousand, in no order. A Set that lives long would do, were it not for this: each
 * table that it outgrows keeps what it held and points at the next one, so that once one of them is old none of the
 * things is collected before a full collection. Measured: a sixth of the time of a busy consumer.
 */
export interface Bag<T> {
  readonly size: number
  /** Answers with what takes it out again; doing so twice is harmless. */
  add(value: T): () => void
  /** As they are now: a list of its own. */
  values(): readonly T[]
}

interface Entry<T> {
  readonly value: T
  place: number
}

const OUT = -1

export const createBag = <T>(): Bag<T> => {
  const entries: Entry<T>[] = []
  const remove = (entry: Entry<T>): void => {
    if (entry.place === OUT) return
    const last = entries.pop()!
    if (last !== entry) {
      entries[entry.place] = last
      last.place = entry.place
    }
    entry.place = OUT
  }
  return {
    get size() {
      return entries.length
    },
    add: (value) => {
      const entry = { value, place: entries.length }
      entries.push(entry)
      return () => remove(entry)
    },
    values: () => entries.map(({ value }) => value),
  }
}
