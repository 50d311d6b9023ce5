import type { LetterMark, LetterState } from '../../contracts/letters.ts'
import type { File } from './file.ts'
import { countMoves, TALLIED, type Tallied } from './letter-tallies.ts'
import { instant } from './parcels.ts'

const TO_MARK = `SELECT ${TALLIED.join(', ')} FROM reprieve_letter WHERE id = ?`
const MARK = 'UPDATE reprieve_letter SET state = ?, state_at = ? WHERE id = ?'

/** Within a transaction: marks letters, and counts them anew. Answers which took effect. */
export const markLetters = (file: File, marks: readonly LetterMark[]): readonly boolean[] => {
  const moves: { from: Tallied; to: LetterState; at: number }[] = []
  const done = marks.map(({ id, from, to, at }) => {
    const row = file.sql(TO_MARK).get(id)
    if (!row || !from.includes(row.state as LetterState)) return false
    file.sql(MARK).run(to, instant(at), id)
    moves.push({ from: TALLIED.map((name) => row[name]!), to, at })
    return true
  })
  countMoves(file, moves)
  return done
}
