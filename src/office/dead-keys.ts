import type { DeadKey, Transport } from '../contracts/transport.ts'
import type { Outline } from '../core/outline.ts'

/** What waits behind letters whose order keys are held, wherever that is: on the transport or its companion. */
export interface DeadKeys {
  behind(letter: Outline): Promise<number>
  /** Lets go what waits. Where nothing does, or not any more, nothing happens. */
  release(letter: Outline): Promise<void>
}

export const deadKeysAt = (sources: readonly Transport[]): DeadKeys => ({
  behind: async (letter) => {
    const key = keyOf(letter)
    if (!key) return 0
    const counts = await Promise.all(sources.map((source) => source.behind?.(letter, [key])))
    return counts.reduce((sum, count) => sum + (count?.[0] ?? 0), 0)
  },
  release: async (letter) => {
    const key = keyOf(letter)
    if (key) for (const source of sources) await source.release?.(letter, [key])
  },
})

const keyOf = ({ id, event }: Outline): DeadKey | undefined => {
  const { orderkey } = event.extensions
  return orderkey === undefined ? undefined : { orderKey: String(orderkey), letter: id }
}
