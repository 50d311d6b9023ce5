import type { Called } from './downstream.ts'
import { type BrokerResult, FAULTS, type Fault } from './run.ts'

/** Of a worker that is killed: all that it has out and unsettled (`window`), each of which may have had its effect already. */
const IN_HANDS = 60

/** Near the end of the work there may be no such frame any more. */
const CUTS: readonly Fault[] = ['confirm', 'ack']

/** What a run has to answer for, in words, to tests and commands alike; nothing where all is well. */
export const complaints = (
  result: BrokerResult,
  { events, blows }: { readonly events: number; readonly blows: readonly Fault[] },
): readonly string[] => {
  const { missing, wrong, beyond, left, fell, done, dead, unexplained, struck } = result
  const times = (fault: Fault): number => blows.filter((each) => each === fault).length
  const excused = times('consumer') * IN_HANDS
  const lists = Object.entries({ missing, wrong, beyond, left, 'tokens fell': fell })
  return [
    ...lists.flatMap(([what, them]) => (them.length > 0 ? [`${them.length} ${what}: ${some(them)}`] : [])),
    ...(done + dead === events ? [] : [`${done} done and ${dead} dead are not ${events}`]),
    ...(unexplained <= excused ? [] : [`${unexplained} effects doubled, ${excused} excused by kills`]),
    ...callsTooMany(result),
    // a run without blows shows nothing
    ...FAULTS.flatMap((fault) =>
      struck[fault] >= times(fault) / (CUTS.includes(fault) ? 2 : 1)
        ? []
        : [`only ${struck[fault]} of ${times(fault)} blows fell: ${fault}`],
    ),
  ]
}

/** I8; and a dependency that nobody called would show nothing. */
export const callsTooMany = ({ calls, granted }: Called): readonly string[] => {
  if (calls === 0) return ['nobody called the dependency that was down']
  return calls <= granted
    ? []
    : [`${calls} calls to a dependency that was down, ${granted} at most are probes`]
}

const some = (them: readonly string[]): string => them.slice(0, 5).join(', ')
