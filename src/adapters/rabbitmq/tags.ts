/** What has to be sent so that just those deliveries are acknowledged: one frame for many where that is right. */
export interface Frames {
  /** Everything up to this tag. */
  readonly upTo: number | undefined
  readonly single: readonly number[]
}

/**
 * A channel numbers its deliveries from 1. An acknowledgement may stand for all before it only where none of
 * those is still open, be it handed over or waiting in the buffer.
 */
export interface Tags {
  /** These were settled in another way. */
  skip(tags: readonly number[]): void
  ack(tags: readonly number[]): Frames
  /** How many runs of tags are remembered: no more than are open, however many pass one that stays open. */
  runs(): number
}

export const freshTags = (): Tags => {
  /** The lowest open one. Above it, of each run of those that were settled out of turn, its first → its last, and back. */
  let lowest = 1
  const lasts = new Map<number, number>()
  const firsts = new Map<number, number>()
  const settle = (tag: number): boolean => {
    const turn = tag === lowest
    if (turn && lasts.size === 0) {
      lowest++
      return true
    }
    const last = lasts.get(tag + 1) ?? tag
    if (last !== tag) lasts.delete(tag + 1)
    if (turn) {
      firsts.delete(last)
      lowest = last + 1
      return true
    }
    const first = firsts.get(tag - 1) ?? tag
    if (first !== tag) firsts.delete(tag - 1)
    lasts.set(first, last)
    firsts.set(last, first)
    return false
  }
  return {
    skip: (tags) => {
      for (const tag of tags) settle(tag)
    },
    ack: (tags) => {
      const single: number[] = []
      let upTo: number | undefined
      for (const tag of [...tags].sort((a, b) => a - b)) {
        if (settle(tag)) upTo = tag
        else single.push(tag)
      }
      return { upTo, single }
    },
    runs: () => lasts.size,
  }
}
