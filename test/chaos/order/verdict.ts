import type { CutResult } from './cuts.ts'
import type { OrderOptions, OrderResult } from './run.ts'

/** Of a worker that is killed: all that it has out and unsettled (`window`), each of which may have had its effect already. */
const IN_HANDS = 32

type Asked = Pick<OrderOptions, 'events' | 'keys' | 'kills'> & {
  /** It was workers that were killed: only that excuses a second effect. */
  readonly ofWorkers?: boolean
}

/** What a run has to answer for, in words, to tests and commands alike; nothing where all is well. */
export const complaints = (
  { byKey, firsts, doubled, wentBack, workers, kills, left, cuts }: OrderResult & Partial<CutResult>,
  asked: Asked,
): readonly string[] => {
  // of each key the next one waits until the effect before it is remembered
  const excused = asked.ofWorkers ? kills * Math.min(IN_HANDS, asked.keys) : 0
  const wanted = Array.from({ length: asked.events / asked.keys }, (_, n) => n).join()
  const keys = Array.from({ length: asked.keys }, (_, k) => `k${k}`)
  const broken = keys.filter((key) => byKey.get(key)?.join() !== wanted)
  return [
    ...(broken.length === 0 ? [] : [`${broken.length} keys out of order: ${broken.slice(0, 5).join(', ')}`]),
    ...(firsts === asked.events ? [] : [`${firsts} effects of ${asked.events} events`]),
    ...(wentBack === 0 ? [] : [`${wentBack} effects after a later one of their key`]),
    ...(doubled <= excused ? [] : [`${doubled} effects doubled, ${excused} excused by kills`]),
    ...(left === 0 ? [] : [`${left} still on the broker or in the store`]),
    ...(kills === asked.kills ? [] : [`only ${kills} of ${asked.kills} blows fell`]),
    // near the end of the work there may be no such request any more, but a run without cuts shows nothing
    ...(cuts === undefined || cuts * 2 >= asked.kills
      ? []
      : [`only ${cuts} of ${asked.kills} cuts were made`]),
    ...(workers > 1 ? [] : ['one worker did all']),
  ]
}

/** The figures of a run in one line. */
export const figures = ({ byKey, ...rest }: OrderResult): string =>
  JSON.stringify({ keys: byKey.size, ...rest })
