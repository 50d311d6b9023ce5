import type { Millis } from '../../core/time.ts'
import { keyOf } from './batches.ts'
import type { Door, Group } from './group.ts'
import { AGAIN } from './headers.ts'
import type { Slot } from './holding.ts'
import { readRecord } from './incoming.ts'
import { type Outgoing, parcelRecord } from './outgoing.ts'
import type { Post } from './post.ts'
import { ENOUGH_SPAN } from './tenure.ts'
import type { Wire } from './wire.ts'

const ROUND: Millis = 1_000
/** Whoever has it may still end it well: then the ledger knows, and the copy is only acknowledged. */
const WAIT: Millis = 5_000

/**
 * A record whose handler hangs holds up the commit of its partition. When so many have passed it that a restart
 * could not remember them, it moves to a retry topic and the commit goes on; to whoever still has it, it is lost.
 */
export const parking = async (wire: Wire, group: Group, post: Post): Promise<void> => {
  const { clock, journal } = wire.tools
  const { member } = group
  while (!member.left.aborted) {
    await clock.sleep(ROUND, member.left)
    if (!member.handing) continue
    const stuck = [...member.tenures.values()].flatMap((tenure) =>
      tenure.span < ENOUGH_SPAN ? [] : tenure.stragglers(tenure.span - ENOUGH_SPAN / 2),
    )
    if (stuck.length === 0) continue
    const end = member.settling()
    try {
      await park(stuck)
    } catch (error) {
      member.trouble('parking stuck records', error)
    } finally {
      end()
    }
  }

  async function park(slots: readonly Slot[]) {
    const movable: Slot[] = []
    const copies: Outgoing[] = []
    for (const slot of slots) {
      const copy = copyOf(slot)
      if (!copy) continue
      movable.push(slot)
      copies.push(copy)
    }
    const errors = await post.send(copies)
    // settled or lost while its copy was on the way: then the copy is one too many, which the ledger tells
    const parked = movable.filter(
      ({ state, tenure }, i) => !errors[i] && state === 'out' && !tenure.over && member.handing,
    )
    for (const slot of parked) {
      for (const door of group.doors(slot.target)) if (door === slot.holder) release(slot, door)
      slot.tenure.finish(slot)
      journal({
        is: 'notice',
        at: clock.now(),
        text:
          `kafka: ${slot.tenure.topic}/${slot.tenure.partition} at offset ${slot.offset} is stuck in ` +
          `${group.name} and moves to its retry topics, so that commits go on`,
      })
    }
    if (parked.length > 0) await member.commits.flush(new Set(parked.map(({ tenure }) => tenure)))
    const failed = errors.find((error) => error)
    if (failed) throw failed
  }

  function copyOf({ record, tenure, offset, target }: Slot): Outgoing | undefined {
    const { event, trail, broken } = readRecord(record!, tenure, offset)
    if (broken !== undefined) return undefined // it is buried without any handler
    const parcel = { event, trail, due: clock.now() + WAIT }
    return parcelRecord(group.later(WAIT), target, parcel, keyOf(record!), { [AGAIN]: '1' })
  }
}

const release = (slot: Slot, door: Door) => {
  slot.holder = undefined
  door.out--
  if (slot.tenure.parcels) door.retrying--
}
