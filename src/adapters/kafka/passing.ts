import type { Millis } from '../../core/time.ts'
import { keyOf, readFields } from './batches.ts'
import type { Group } from './group.ts'
import { AGAIN, DUE, headerOf, PASSED } from './headers.ts'
import type { Slot } from './holding.ts'
import type { Outgoing } from './outgoing.ts'
import type { Post } from './post.ts'
import { LONGEST, TIERS } from './tiers.ts'
import type { Topics } from './topics.ts'
import type { Wire } from './wire.ts'

/** An inlet may be on its way: so long a due parcel waits for one before it is passed on. */
const PATIENCE: Millis = 5_000
const ROUND: Millis = 1_000

/**
 * Retry topics are shared by a consumer group, and its members need not have the same subscriptions: two
 * versions of a service run side by side, or one inlet was closed. A parcel that nobody here can take goes on
 * to another partition, and so to another member, less often each time. One that must wait longer than the longest tier
 * goes through it again, with the same due time. Those that nobody takes for so long that they only go round every hour are
 * told of, once for each topic: whoever subscribed to it may be gone for good.
 */
export const passing = async (wire: Wire, group: Group, post: Post, topics: Topics): Promise<void> => {
  const { clock, journal } = wire.tools
  const { member } = group
  const told = new Set<string>()
  while (!member.left.aborted) {
    await clock.sleep(ROUND, member.left)
    if (!member.handing) continue
    const end = member.settling()
    try {
      const failed = [await passOn(), await waitOn()].find((error) => error)
      if (failed) member.trouble('passing on parcels', failed, ROUND)
    } catch (error) {
      member.trouble('passing on parcels', error)
    } finally {
      end()
    }
  }

  /** Answers with why one of them could not go on: it stays, and is tried again. */
  async function passOn(): Promise<Error | undefined> {
    const strays: Slot[] = []
    for (const tenure of member.tenures.values()) {
      for (const target of tenure.parcels ? tenure.shelves.keys() : []) {
        if (group.doors(target).size > 0) continue
        for (;;) {
          const slot = tenure.take(target, clock.now() - PATIENCE)
          if (!slot) break
          strays.push(slot)
        }
      }
    }
    if (strays.length === 0) return undefined
    const errors = await post.send(strays.map(onward))
    const moved = strays.filter((slot, i) => {
      if (errors[i]) slot.tenure.giveBack(slot)
      else slot.tenure.finish(slot)
      return !errors[i]
    })
    await member.commits.flush(new Set(moved.map(({ tenure }) => tenure)))
    return errors.find((error) => error)
  }

  function tell(target: string) {
    if (told.has(target)) return
    told.add(target)
    const text =
      `kafka: parcels for ${target} lie in the retry topics of ${group.name}, and no member of ${group.name} subscribes to ` +
      'it; they go round every hour until one does'
    journal({ is: 'notice', at: clock.now(), text })
  }

  async function waitOn(): Promise<Error | undefined> {
    const now = clock.now()
    const early = [...member.tenures.values()].flatMap((tenure) =>
      tenure.parcels ? tenure.outstayed(now) : [],
    )
    if (early.length === 0) return undefined
    const errors = await post.send(
      early.map((slot) => copyOf(slot, group.later(slot.due - now), slot.tenure.partition, {})),
    )
    const moved = early.filter((slot, i) => {
      if (errors[i]) slot.tenure.keep(slot)
      else slot.tenure.finish(slot)
      return !errors[i]
    })
    await member.commits.flush(new Set(moved.map(({ tenure }) => tenure)))
    return errors.find((error) => error)
  }

  function onward(slot: Slot): Outgoing {
    const passed = Math.max(0, Number(headerOf(slot.record!, PASSED)) || 0)
    // Once around the partitions before it waits longer.
    const round = Math.floor(passed / topics.partitions(group.later(0)))
    const wait = TIERS[Math.min(round, TIERS.length - 1)]!.ms
    if (wait === LONGEST) tell(slot.target)
    const ours = { [DUE]: String(clock.now() + wait), [PASSED]: String(passed + 1) }
    return copyOf(slot, group.later(wait), slot.tenure.partition + 1, ours)
  }

  function copyOf(
    { record, redelivered }: Slot,
    topic: string,
    to: number,
    written: Readonly<Record<string, string>>,
  ): Outgoing {
    const ours: Record<string, string> = { ...written, ...(redelivered && { [AGAIN]: '1' }) }
    const headers: (Buffer | undefined)[] = []
    const value = readFields(record!, (bytes, nameAt, nameLength, valueAt, valueLength) => {
      const name = bytes.subarray(nameAt, nameAt + nameLength)
      if (name.toString() in ours) return
      headers.push(name, valueLength < 0 ? undefined : bytes.subarray(valueAt, valueAt + valueLength))
    })
    for (const name in ours) headers.push(Buffer.from(name), Buffer.from(ours[name]!))
    const partition = to % topics.partitions(topic)
    const bytes = record!.end - record!.at + 100
    return { topic, key: keyOf(record!) ?? undefined, value: value ?? undefined, headers, bytes, partition }
  }
}
