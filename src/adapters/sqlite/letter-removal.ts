import type { LetterState } from '../../contracts/letters.ts'
import type { Instant } from '../../core/time.ts'
import type { File } from './file.ts'
import { countGone, TALLIED } from './letter-tallies.ts'

const STATE = 'SELECT state FROM reprieve_letter WHERE id = ?'
const GONE = `DELETE FROM reprieve_letter WHERE id = ? RETURNING ${TALLIED.join(', ')}, buried_at, number`
const FREE = 'DELETE FROM reprieve_operation_held WHERE letter = ?'

export interface Removal {
  readonly id: string
  readonly from: readonly LetterState[]
}

/**
 * Within a transaction: takes letters away with all that was counted of them, and their groups with the last of each.
 * Answers which were there in one of their states, and are gone now.
 */
export const removeLetters = (file: File, removals: readonly Removal[]): readonly boolean[] => {
  const gone: Parameters<typeof countGone>[1][number][] = []
  const done = removals.map(({ id, from }) => {
    if (!from.includes(file.sql(STATE).get(id)?.state as LetterState)) return false
    const row = file.sql(GONE).get(id)!
    file.sql(FREE).run(row.number!)
    gone.push({ id, at: row.buried_at as Instant, tallied: TALLIED.map((name) => row[name]!) })
    return true
  })
  countGone(file, gone)
  return done
}
