import type { Settled, Settlement } from '../../contracts/transport.ts'
import { ReprieveError } from '../../core/error.ts'
import { moveAtOnce } from './atomic.ts'
import { TURN } from './commits.ts'
import { type Desk, type Entry, prepare, refuse, release, stillOurs } from './desk.ts'
import { unavailable } from './errors.ts'
import { within } from './within.ts'

/**
 * New home first, commit last: at most one load of records and one commit for the whole batch. An entry that
 * fails stays out and may be settled again.
 */
export const settleBatch = async (desk: Desk, batch: readonly Settlement[]): Promise<readonly Settled[]> => {
  const answers: Settled[] = new Array(batch.length).fill('lost')
  const entries = desk.door.closed ? [] : claim(desk, batch, answers)
  if (entries.length === 0) return answers
  const end = desk.group.member.settling()
  try {
    if (!(await isSteady(desk))) {
      for (const entry of entries) putOff(desk, entry, answers)
      return answers
    }
    const ours = entries.filter(({ slot }) => stillOurs(desk, slot))
    const finished = ours.filter(({ slot }) => slot.uncommitted)
    const unfinished = finished.length === 0 ? ours : ours.filter(({ slot }) => !slot.uncommitted)
    const moved = desk.transactions ? await moveAtOnce(desk, unfinished, answers) : undefined
    for (const entry of moved ?? (await house(desk, unfinished, answers))) {
      if (!stillOurs(desk, entry.slot)) continue
      if (entry.settlement.do === 'give back') {
        release(desk, entry.slot)
        entry.slot.tenure.giveBack(entry.slot)
        answers[entry.index] = 'done'
      } else finished.push(entry)
    }
    await commit(desk, finished, answers)
    return answers
  } finally {
    end()
  }
}

/** Whose the partitions are is known, in time. */
const isSteady = async ({ group: { member }, wire }: Desk): Promise<boolean> => {
  if (member.settled) return true
  return within(TURN, wire.tools.clock, () => member.steady()).then(
    () => true,
    () => false,
  )
}

/** Nothing has become of it: it stays as it is, and may be settled again. */
const putOff = ({ wire }: Desk, entry: Entry, answers: Settled[]) => {
  const late = new Error(`nobody told for ${TURN} ms whose its partition is`)
  const error = unavailable(wire.settings.brokers, 'settling', late)
  if (entry.slot.uncommitted) answers[entry.index] = error
  else refuse(entry, error, answers)
}

/** Two settlements of one delivery, even in one batch: the second is lost. */
const claim = (desk: Desk, batch: readonly Settlement[], answers: Settled[]): readonly Entry[] => {
  const entries: Entry[] = []
  for (let index = 0; index < batch.length; index++) {
    const settlement = batch[index]!
    const slot = desk.slotOf(settlement.delivery)
    if (!slot || slot.holder !== desk.door) continue
    if (settlement.do === 'later' && desk.group.foreign) {
      answers[index] = notOurs(desk.door.topic)
      continue
    }
    if (slot.state === 'out') slot.state = 'settling'
    else if (!slot.uncommitted || entries.some((entry) => entry.slot === slot)) continue
    entries.push({ index, slot, settlement })
  }
  return entries
}

const notOurs = (topic: string): ReprieveError =>
  new ReprieveError(
    'bad_rules',
    `kafka: '${topic}' is someone else's, and nothing of ours is put off there`,
    {
      fix: 'keep the delivery until it can be settled, or give it back',
    },
  )

/** Makes the new homes durable; answers with the entries that may go on. */
const house = async (
  desk: Desk,
  entries: readonly Entry[],
  answers: Settled[],
): Promise<readonly Entry[]> => {
  const { moving, others } = await prepare(desk, entries, answers)
  if (moving.length === 0) return others
  const errors = await desk.post.send(moving.map(({ record }) => record))
  const housed: Entry[] = []
  moving.forEach(({ entry }, i) => {
    const error = errors[i]
    if (error) refuse(entry, error, answers)
    else {
      entry.slot.housed = true
      housed.push(entry)
    }
  })
  return [...others, ...housed]
}

const commit = async (desk: Desk, entries: readonly Entry[], answers: Settled[]): Promise<void> => {
  if (entries.length === 0) return
  const tenures = new Set(entries.map(({ slot }) => slot.tenure))
  for (const { slot } of entries) if (!slot.uncommitted) slot.tenure.finish(slot)
  const { clock } = desk.wire.tools
  const flushed = await within(TURN, clock, () => desk.group.member.commits.flush(tenures)).catch(
    (late: Error) => late,
  )
  for (const { slot, index } of entries) {
    const outcome = flushed instanceof Error ? flushed : (flushed.get(slot.tenure) ?? 'fenced')
    slot.uncommitted = outcome !== 'done' && outcome !== 'fenced'
    if (outcome === 'done') answers[index] = 'done'
    else if (outcome !== 'fenced')
      answers[index] = unavailable(desk.wire.settings.brokers, 'committing', outcome)
    if (!slot.uncommitted) release(desk, slot)
  }
}
