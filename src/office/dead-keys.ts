import type { DeadKey, Transport } from '../contracts/transport.ts'
import type { Letter } from '../core/letter.ts'

/** What waits behind letters whose order keys are held, wherever that is: on the transport or its companion. */
export interface DeadKeys {
  behind(letter: Letter): Promise<number>
  /** Lets go what waits. Where nothing does, or not any more, nothing happens. */
  release(letter: Letter): Promise<void>
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

const keyOf = ({ id, event }: Letter): DeadKey | undefined => {
  const { orderkey } = event.extensions
  return orderkey === undefined ? undefined : { orderKey: String(orderkey), letter: id }
}
