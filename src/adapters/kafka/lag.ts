import type { Lag } from '../../contracts/transport.ts'
import { unavailable } from './errors.ts'
import type { Group } from './group.ts'
import { decodeMark } from './marks.ts'
import { listOffsets, placeOf } from './offsets.ts'
import { type Next, oldestOf } from './oldest.ts'
import type { Topics } from './topics.ts'
import type { Wire } from './wire.ts'
import { within } from './within.ts'

const PATIENCE = 15_000

/**
 * Of partitions that are ours we know what is out; of the others only what is committed. Parcels count once
 * they are due and fetched.
 */
export const lagOf = async (wire: Wire, topics: Topics, group: Group, topic: string): Promise<Lag> => {
  const { tenures, offsets } = group.member
  const now = wire.tools.clock.now()
  const places = Array.from({ length: topics.partitions(topic) }, (_, partition) => ({ topic, partition }))
  const others = places.filter((place) => !tenures.has(placeOf(place)))
  const ask = async () => {
    const ends = await listOffsets(wire, places, 'latest')
    const unknown = places.filter((place) => !ends.has(placeOf(place)))
    if (unknown.length > 0) throw new Error(`nobody tells where ${unknown.map(placeOf).join(', ')} ends`)
    const committed = others.length > 0 ? await offsets.committed(others) : new Map()
    const untouched = others.filter((place) => !committed.has(placeOf(place)))
    return { ends, committed, begins: await listOffsets(wire, untouched, 'earliest') }
  }
  /** Partitions of ours that have records which are not yet fetched, and those of others. */
  const unseen: Next[] = []
  try {
    const { ends, committed, begins } = await within(PATIENCE, wire.tools.clock, ask)
    let waiting = 0
    for (const place of others) {
      const key = placeOf(place)
      const { offset, text } = committed.get(key) ?? { offset: begins.get(key) ?? 0, text: '' }
      const done = decodeMark(text, offset)?.done ?? []
      const finished = done.reduce((sum, [from, to]) => sum + to - from + 1, 0)
      const behind = Math.max(0, (ends.get(key) ?? offset) - offset - finished)
      waiting += behind
      if (behind > 0) unseen.push({ ...place, offset })
    }
    let oldest: number | undefined
    for (const [key, tenure] of tenures) {
      const shelf = tenure.shelves.get(topic)
      waiting += shelf?.ready(now) ?? 0
      const behind = tenure.topic === topic ? Math.max(0, (ends.get(key) ?? 0) - tenure.position) : 0
      waiting += behind
      const first = shelf?.oldest()
      if (first !== undefined) oldest = Math.min(oldest ?? first, first)
      else if (behind > 0) unseen.push({ topic, partition: tenure.partition, offset: tenure.position })
    }
    const further = await within(PATIENCE, wire.tools.clock, () => oldestOf(wire, unseen))
    if (further !== undefined) oldest = Math.min(oldest ?? further, further)
    // a writer's clock may be fast, or its records have no time at all
    return { waiting, ...(Number.isFinite(oldest) && { oldest: Math.min(oldest!, now) }) }
  } catch (error) {
    throw unavailable(wire.settings.brokers, `measuring the lag of ${topic}`, error)
  }
}
