import type { Settled } from '../../contracts/transport.ts'
import { type Desk, type Entry, type Moving, prepare, refuse, release, stillOurs } from './desk.ts'
import { CODE, hasCode, isOfTopic, unavailable } from './errors.ts'
import { encodeMark } from './marks.ts'
import { type Committed, placeOf } from './offsets.ts'
import { tooLarge } from './post.ts'

/**
 * Retries, burials and receipts, each with the commit of what it replaces in one transaction: either both are there
 * or none is, whatever dies in between. Answers with the entries that need no record: they go on as ever.
 */
export const moveAtOnce = async (
  desk: Desk,
  entries: readonly Entry[],
  answers: Settled[],
): Promise<readonly Entry[]> => {
  const { moving, others } = await prepare(desk, entries, answers)
  desk.post.address(moving.map(({ record }) => record))
  const led = moving.filter((each) => isLed(desk, each, answers))
  if (led.length > 0) await moveAll(desk, led, answers)
  return others
}

/** One that nobody would take stands in the way of all that are to be written with it. */
const isLed = ({ topics, wire }: Desk, { entry, record }: Moving, answers: Settled[]): boolean => {
  const { topic, partition = 0 } = record
  const led = topics.led(topic)
  if (led.length === 0 || led.includes(partition)) return true
  const missing = new Error(`no broker leads ${placeOf({ topic, partition })}`)
  refuse(entry, unavailable(wire.settings.brokers, 'settling in a transaction', missing), answers)
  return false
}

const moveAll = async (desk: Desk, moving: readonly Moving[], answers: Settled[]): Promise<void> => {
  const outcome = await transact(desk, moving)
  const isTooLarge = outcome instanceof Error && hasCode(outcome, CODE.tooLarge, CODE.recordListTooLarge)
  const parts = isTooLarge ? moving.map((each) => [each]) : isOfTopic(outcome) ? byTopic(moving) : []
  if (parts.length > 1) {
    for (const part of parts) await moveAll(desk, part, answers)
    return
  }
  for (const { entry, record } of moving) {
    const { slot, index } = entry
    if (outcome instanceof Error) {
      if (!isTooLarge) desk.topics.forget(record.topic)
      const reason = unavailable(desk.wire.settings.brokers, 'settling in a transaction', outcome)
      refuse(entry, isTooLarge ? tooLarge(record, outcome) : reason, answers)
    } else if (outcome === 'fenced') {
      // nothing was written; should the partition stay ours after all, it is handed over again
      if (stillOurs(desk, slot)) {
        release(desk, slot)
        slot.tenure.giveBack(slot)
      }
    } else {
      release(desk, slot)
      answers[index] = 'done'
    }
  }
}

const byTopic = (moving: readonly Moving[]): readonly (readonly Moving[])[] => [
  ...Map.groupBy(moving, ({ record }) => record.topic).values(),
]

const transact = async (desk: Desk, moving: readonly Moving[]): Promise<Committed> => {
  const { group, transactions } = desk
  const records = moving.map(({ record }) => record)
  try {
    return await group.member.commits.alone(async (as, out) => {
      const slots = new Set(moving.map(({ entry }) => entry.slot))
      const tenures = [...new Set([...slots].map(({ tenure }) => tenure))]
      if (tenures.some(({ over }) => over)) return 'fenced'
      const commits = tenures.map((each) => {
        const { offset, done } = each.progress(slots)
        const { topic, partition, topicId: of } = each
        return { topic, partition, offset, text: encodeMark({ out: out(each), done, of }, offset) }
      })
      const outcome = await transactions!.run(records, group.member.offsets, commits, as)
      if (outcome === 'done') {
        tenures.forEach((each, i) => {
          each.committed = commits[i]!.offset
        })
        // before the next commit is made, which would take back what this one has brought
        for (const slot of slots) slot.tenure.finish(slot)
      }
      return outcome
    })
  } catch (error) {
    return error as Error
  }
}
