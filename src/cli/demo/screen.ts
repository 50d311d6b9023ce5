import type { Fact, Journal } from '../../contracts/journal.ts'
import type { Failure } from '../../core/failure.ts'
import type { Instant } from '../../core/time.ts'
import { factJson } from '../print/facts.ts'
import { inert } from '../print/inert.ts'
import { bad, calm, good, strong, warn } from '../print/paint.ts'
import { columnsHere, say, sayJson } from '../print/say.ts'
import { table } from '../print/table.ts'
import { span } from '../print/time.ts'
import { cutTo, padded, paddedLeft } from '../print/width.ts'
import type { Task } from './story.ts'
import type { Tally } from './tally.ts'

/** What the demo shows while it runs: a line for each thing that happens. */
export interface Screen {
  readonly read: Journal
  /** From now on this event is known by its task. */
  know(event: string, task: Task): void
  note(who: string, text: string): void
}

/** For programs: every fact and every note, one JSON object a line. */
export const jsonScreen: Screen = {
  read: factJson,
  know: () => {},
  note: (who, text) => sayJson({ is: 'note', who, text }),
}

type Paint = (text: string) => string

/** With more events than this, only the first deaths are shown one by one. */
export const CROWD = 60
const DEATHS = 10

export const createScreen = (began: Instant, now: () => Instant, crowd: boolean): Screen => {
  const tasks = new Map<string, Task>()
  const room = Math.min(40, Math.max(22, (columnsHere() ?? 100) - 58))
  const failed = new Map<string, Failure>()
  let deaths = 0

  const line = (paint: Paint, verb: string, rest: string) => {
    const at = `${((now() - began) / 1000).toFixed(1)} s`
    say(`${calm(paddedLeft(at, 6))}  ${paint(padded(verb, 12))}${rest.trimEnd()}`)
  }
  const about = (event: string): string => {
    const task = tasks.get(event)
    return padded(task?.to ?? inert(event), 18)
  }
  const reasonOf = (event: string): string => {
    const reason = inert(failed.get(event)?.message ?? '')
    failed.delete(event)
    return `${padded(cutTo(reason, room), room)}  `
  }

  const show = (fact: Fact): void => {
    if (fact.is === 'failed') failed.set(fact.event, fact.failure)
    else if (fact.is === 'dead') {
      if (crowd && ++deaths > DEATHS) return
      line(bad, 'dead', `${about(fact.event)}${reasonOf(fact.event)}${bad(fact.reason)}`)
    } else if (fact.is === 'trouble') line(bad, 'trouble', inert(`${fact.where}: ${fact.error.message}`))
    else if (fact.is === 'breaker') {
      line(fact.to === 'closed' ? good : warn, 'breaker', `${inert(fact.name)}: ${fact.from} → ${fact.to}`)
    } else if (crowd) return
    else if (fact.is === 'done') {
      line(good, 'sent', `${about(fact.event)}${fact.attempt === 1 ? '' : calm(`attempt ${fact.attempt}`)}`)
    } else if (fact.is === 'retry') {
      line(warn, 'retry', `${about(fact.event)}${reasonOf(fact.event)}${calm(`in ${span(fact.delay)}`)}`)
    }
  }

  return {
    read: show,
    know: (event, task) => tasks.set(event, task),
    note: (who, text) => line(strong, who, text),
  }
}

export const tallyTable = (rows: readonly { readonly when: string; readonly tally: Tally }[]): string => {
  const number = (title: string, of: (tally: Tally) => number, paint?: Paint) => ({
    title,
    of: (row: { tally: Tally }) => String(of(row.tally)),
    align: 'right' as const,
    ...(paint && {
      paint: (text: string, row: { tally: Tally }) => (of(row.tally) > 0 ? paint(text) : text),
    }),
  })
  return table(
    [
      { title: '', of: ({ when }) => `         ${when}` },
      number('accepted', ({ accepted }) => accepted),
      number('done', ({ done }) => done, good),
      number('waiting', ({ waiting }) => waiting, warn),
      number('dead', ({ dead }) => dead, bad),
      number('in flight', ({ inFlight }) => inFlight, warn),
    ],
    rows,
  )
}
