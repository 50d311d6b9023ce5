import type { Difference } from '../../core/json-paths.ts'
import { inert } from '../print/inert.ts'
import { bad, calm, good } from '../print/paint.ts'

const MOST_VALUE = 300
const MOST_LINES = 50

/** What differs, as two inert lines for each place. */
export const diffText = (differences: readonly Difference[]): string => {
  const shown = differences
    .slice(0, MOST_LINES)
    .flatMap(({ path, before, after }) => [
      ...(before === undefined ? [] : [bad(`  - ${inert(path)}  ${short(before)}`)]),
      ...(after === undefined ? [] : [good(`  + ${inert(path)}  ${short(after)}`)]),
    ])
  const more = differences.length - MOST_LINES
  return [...shown, ...(more > 0 ? [calm(`  and ${more} more`)] : [])].join('\n')
}

const short = (json: string): string =>
  inert(json.length <= MOST_VALUE ? json : `${json.slice(0, MOST_VALUE).toWellFormed()}…`)
