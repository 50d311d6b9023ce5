import type { Message } from './client.ts'
import { tierName } from './names.ts'
import type { Outgoing } from './write.ts'

/** What became of a message: it is durable · no queue takes it · refused, or unknown, so that it may be sent again. */
export type Fate = 'kept' | 'unroutable' | Error

/** Messages that were sent together, and what became of each. */
export interface Batch {
  readonly items: readonly Outgoing[]
  readonly fates: Fate[]
  readonly unroutable: Set<number>
  /** Made when the first message comes back. */
  index?: ReadonlyMap<string, readonly number[]>
  left: number
  /** So many were sent, or need not be. */
  written: number
  moved: boolean
  over: boolean
  /** There when its time was over before all were confirmed: whoever wants to know of those. */
  unheard?: ReadonlyMap<number, (fate: Fate) => void>
  end(): void
}

/** What was sent and not confirmed in time: the broker may take it yet. By what it is the copy of. */
export type Late = WeakMap<object, LateCopy>

interface LateCopy {
  kept: boolean
  /** Of the try that waits for it now. Those before it are over: however many there were, they leave nothing here. */
  hear: ((fate: Fate) => void) | undefined
}

/** In place of sending it once more. */
export const hearOf = (copy: LateCopy, batch: Batch, i: number): void => {
  if (copy.kept) settleFate(batch, i, 'kept')
  else copy.hear = (fate) => settleFate(batch, i, fate)
}

export const settleFate = (batch: Batch, i: number, fate: Fate): void => {
  if (batch.over) return void batch.unheard?.get(i)?.(fate)
  batch.fates[i] = fate
  batch.moved = true
  if (--batch.left === 0) batch.end()
}

/**
 * Its time is over. A copy that is on its way need not be sent again as long as its channel lives: a broker that takes
 * nothing for an hour would else get one more of each with every try.
 */
export const giveUp = (batch: Batch, batches: Set<Batch>, late: Late, error: Error): void => {
  const unheard = new Map<number, (fate: Fate) => void>()
  for (const [i, { of }] of batch.items.entries()) {
    if (batch.fates[i] !== undefined) continue
    batch.fates[i] = error
    if (!of || i >= batch.written) continue
    const known = late.get(of)
    if (known) {
      known.hear = undefined
      continue
    }
    const copy: LateCopy = { kept: false, hear: undefined }
    late.set(of, copy)
    unheard.set(i, (fate) => {
      if (fate === 'kept') copy.kept = true
      else late.delete(of)
      copy.hear?.(fate)
      copy.hear = undefined
      unheard.delete(i)
      if (unheard.size === 0) batches.delete(batch)
    })
  }
  batch.unheard = unheard
  batch.end()
  if (unheard.size > 0) batches.add(batch) // what is confirmed late may have come back before that
}

/**
 * A returned message is confirmed too, and comes back without a number. Whatever is on its way with the same
 * address and id is taken for it: at worst one that was kept is sent again.
 */
export const markReturned = (batches: ReadonlySet<Batch>, { fields, properties }: Message): void => {
  const returned = sameness(fields.exchange, fields.routingKey, properties.messageId)
  for (const batch of batches) {
    batch.index ??= indexOf(batch.items)
    for (const i of batch.index.get(returned) ?? []) batch.unroutable.add(i)
  }
}

const indexOf = (items: readonly Outgoing[]): Map<string, number[]> => {
  const index = new Map<string, number[]>()
  items.forEach((item, i) => {
    const name = sameness(throughOf(item), item.key, item.options.messageId)
    const there = index.get(name)
    if (there) there.push(i)
    else index.set(name, [i])
  })
  return index
}

const sameness = (exchange: string, key: string, id: string | undefined): string =>
  `${exchange}\n${key}\n${id ?? ''}`

export const throughOf = ({ exchange, tier }: Outgoing): string =>
  tier === undefined ? exchange : tierName(tier)
