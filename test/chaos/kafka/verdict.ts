import { callsTooMany } from '../broker/verdict.ts'
import type { StormResult } from './storm.ts'

export interface Stormed {
  readonly events: number
  /** Retries and burials were transactions. */
  readonly transactions?: boolean
}

/** Of a worker that is killed: it may have made its effects and not yet have said so. As many as it has out. */
const IN_HANDS = 60

/** What a storm has to answer for, in words, to tests and commands alike; nothing where all is well. */
export const complaints = (
  result: StormResult,
  { events, transactions = false }: Stormed,
): readonly string[] => {
  const {
    missing,
    wrong,
    beyond,
    fell,
    done,
    dead,
    unexplained,
    uncommitted,
    buriedTwice,
    killed,
    blows,
    least,
  } = result
  const lists = Object.entries({ missing, wrong, beyond, 'tokens fell': fell })
  const excused = killed * IN_HANDS
  return [
    ...lists.flatMap(([what, them]) =>
      them.length > 0 ? [`${them.length} ${what}: ${them.slice(0, 5).join(', ')}`] : [],
    ),
    ...(done + dead === events ? [] : [`${done} done and ${dead} dead are not ${events}`]),
    ...(uncommitted === 0 ? [] : [`${uncommitted} records are not committed`]),
    ...(unexplained <= excused ? [] : [`${unexplained} effects doubled, ${excused} excused by kills`]),
    ...callsTooMany(result),
    ...(blows >= least ? [] : [`only ${blows} blows fell, and with less than ${least} it shows nothing`]),
    // without transactions a broker or a worker that dies between the two leaves the letter and the original
    ...(transactions && buriedTwice > 0 ? [`${buriedTwice} letters are there twice`] : []),
  ]
}

/** The figures of a storm in one line. */
export const figures = ({ missing, wrong, beyond, fell, ...rest }: StormResult): string =>
  JSON.stringify({
    ...rest,
    missing: missing.length,
    wrong: wrong.length,
    beyond: beyond.length,
    fell: fell.length,
  })
