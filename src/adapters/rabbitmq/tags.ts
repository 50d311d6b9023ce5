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
}

export const freshTags = (): Tags => {
  /** The lowest open one; above it, those that were settled out of turn. */
  let lowest = 1
  const ahead = new Set<number>()
  const settle = (tag: number): boolean => {
    if (tag !== lowest) {
      ahead.add(tag)
      return false
    }
    do lowest++
    while (ahead.delete(lowest))
    return true
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
  }
}
