import type { ExitCode } from '../failure.ts'
import { bad, good } from '../print/paint.ts'
import { say, sayJson } from '../print/say.ts'
import type { Ending } from './play.ts'
import { tallyTable } from './screen.ts'
import { addsUp, type Tally } from './tally.ts'

/** The closing table, and whether it holds: every event accounted for, every mail once, no letter left. */
export const tellEnding = ({ before, after, replayed, doubles }: Ending, json: boolean): ExitCode => {
  const wrong = [
    ...faults('before the repair', before),
    ...faults('after the replay', after),
    ...(doubles > 0 ? [`${doubles} mails were sent twice`] : []),
    ...(after.dead > 0 ? [`${after.dead} dead letters are left`] : []),
    ...(after.waiting + after.inFlight > 0 ? ['not all came to an end in time'] : []),
  ]
  if (json) sayJson({ is: 'ending', before, after, replayed, doubles, wrong })
  else {
    const rows = [
      { when: 'before the repair', tally: before },
      { when: 'after the replay', tally: after },
    ]
    say(`\n${tallyTable(rows)}\n`)
    say(
      wrong.length > 0
        ? wrong.map((text) => `         ${bad(text)}`).join('\n')
        : `         ${good('It adds up.')} ${after.done} mails, none of them twice, and no dead letter left.`,
    )
  }
  return wrong.length > 0 ? 1 : 0
}

const faults = (when: string, tally: Tally): readonly string[] => {
  if (addsUp(tally)) return []
  const { accepted, done, waiting, dead, inFlight } = tally
  return [`${when}: ${accepted} accepted, and ${done + waiting + dead + inFlight} accounted for`]
}
