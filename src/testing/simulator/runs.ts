import type { Parcel } from '../../core/parcel.ts'
import type { Instant } from '../../core/time.ts'
import { freshTrail } from '../../core/trail.ts'
import { checkInTime } from './expiry.ts'
import { type Fate, nameOf, type Out } from './fate.ts'
import type { Life } from './life.ts'
import { letsGo } from './lines.ts'
import type { Broken } from './violation.ts'

/** What must be so when a handler begins; `line`: all events of its order key, in the order they were taken in. */
export const checkBeginning = (
  fate: Fate,
  out: Out | undefined,
  line: readonly Fate[],
  now: Instant,
  broken: Broken,
): void => {
  const name = nameOf(fate)
  const excused = fate.excuses > 0
  if (!out && !excused) broken('contract', `${name} ran and was not delivered`)
  checkInTime(fate, now, broken)
  for (const earlier of line) {
    if (earlier === fate) break
    if (!letsGo(earlier)) broken('I6', `${name} ran before ${nameOf(earlier)} was over`)
  }
  if (!out) return
  if (out.superseded && !excused) broken('I4', `${name} ran after its lease was over`)
  if (!fate.dedup) return
  if (fate.recorded !== undefined && out.moment > fate.recorded) broken('I3', `${name} ran after it was done`)
  if (fate.completed && !excused) broken('I3', `${name} ran again, and it had gone well`)
  const death = fate.deaths.get(out.delivery.parcel.trail.generation)
  if (death && out.moment > death.moment && !excused) broken('I3', `${name} ran after it was dead`)
  const beside = [...fate.runs].some(({ began }) => now < began + fate.timeout)
  if (beside && !excused) broken('I3', `${name} runs twice at once`)
}

/** What the model takes for the delivery of a run that it can't tell the delivery of. */
export const orphan = (fate: Fate, life: Life): Out => {
  const parcel = { trail: freshTrail, due: 0 } as unknown as Parcel
  return {
    fate,
    life,
    delivery: { parcel, redelivered: false },
    moment: 0,
    superseded: false,
    run: undefined,
  }
}
