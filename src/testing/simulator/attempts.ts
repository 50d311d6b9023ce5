import type { Event } from '../../core/event.ts'
import type { Trail } from '../../core/trail.ts'
import { KILLS } from './book.ts'
import { nameOf, type Run } from './fate.ts'
import type { Life } from './life.ts'
import type { Noted } from './noted.ts'
import { checkBeginning, orphan } from './runs.ts'

/** I3 and I5: effects happen once where that is promised, and nothing is tried more often than was granted. */
export interface Attempts {
  began(life: Life, service: string, event: Pick<Event, 'id' | 'headers'>, trail: Trail): Run
  /** `late`: its time was over when it came to its end. Spoiled: by another of its batch, so that it counts for nothing. */
  ended(run: Run, how: 'done' | 'answered' | 'failed' | 'spoiled', late: boolean): void
  /** Its handler ends the process. */
  kills(run: Run): void
  effect(run: Run, idempotencyKey: string): void
  /** Its transaction is durable, with all that is in it. */
  committed(run: Run): void
}

export const createAttempts = ({ now, trace, broken, namesakes, fateOf, lines }: Noted): Attempts => ({
  began: (life, service, event, trail) => {
    const fate = fateOf(service, event)
    const attempt = trail.spent + 1
    const out = fate.outs.find(
      (each) => each.life === life && !each.run && each.delivery.parcel.trail.spent === trail.spent,
    )
    trace(life.name, `${nameOf(fate)} attempt ${attempt}: ${fate.does}`)
    if (attempt > fate.limit) broken('I5', `${nameOf(fate)}: attempt ${attempt} of ${fate.limit}`)
    checkBeginning(fate, out, lines.of(fate), now(), broken)
    const ran = namesakes(fate).find((other) => other !== fate && other.tries > 0)
    if (fate.dedup && ran) broken('I3', `${nameOf(fate)} ran, and its id is known of ${nameOf(ran)}`)
    fate.tries++
    const run: Run = { fate, out: out ?? orphan(fate, life), began: now(), attempt, completed: false }
    if (out) out.run = run
    fate.runs.add(run)
    return run
  },
  ended: (run, how, late) => {
    const { fate, attempt } = run
    fate.runs.delete(run)
    trace(run.out.life.name, `${nameOf(fate)} attempt ${attempt} ${how}${late ? ', too late' : ''}`)
    if (how === 'spoiled') run.out.run = undefined
    if (how === 'done' && !late) {
      run.completed = true
      fate.completed = true
    }
    if (how !== 'failed') return
    const { generation } = run.out.delivery.parcel.trail
    const failures = (fate.failures.get(generation) ?? 0) + 1
    fate.failures.set(generation, failures)
    // without dedup every copy has attempts of its own, and each mishap may have made one more
    const { limit, copies, excuses } = fate
    const most = fate.dedup ? limit + excuses : limit * (copies + excuses)
    if (failures <= most) return
    broken('I5', `${nameOf(fate)} failed ${failures} times, and ${most} attempts were granted`)
  },
  kills: ({ fate, attempt }) => {
    // whoever came to another end is beyond suspicion, and its next attempt is counted anew
    const before = fate.kills.get(attempt) ?? 0
    const all = [...fate.kills.values()].reduce((sum, each) => sum + each, 0)
    fate.kills.set(attempt, before + 1)
    // each of them is an excuse as well, but not for the next; a mishap of another kind may hide one death
    const most = KILLS + Math.max(0, fate.excuses - all)
    if (before >= most)
      broken('I5', `${nameOf(fate)} killed ${before + 1} processes in attempt ${attempt}, at most ${most}`)
  },
  effect: (run, key) => {
    const { fate } = run
    trace(run.out.life.name, `${nameOf(fate)} has its effect, key ${key}`)
    fate.keys.add(key)
    if (fate.keys.size > 1) broken('I3', `${nameOf(fate)}: effects under ${[...fate.keys].join(' and ')}`)
  },
  committed: ({ fate, out }) => {
    trace(out.life.name, `${nameOf(fate)} has its effect committed`)
    fate.completed = true
    if (++fate.effects > 1) broken('I3', `${nameOf(fate)} has its effect ${fate.effects} times`)
  },
})
