import type { Brought, Desk, NewRepair } from '../../contracts/desk.ts'
import type { LetterState } from '../../contracts/letters.ts'
import { type ActOnLetters, actOn } from '../../core/acts.ts'
import { repairToJson } from '../../core/repair.ts'
import { appendTo } from './audit.ts'
import type { File } from './file.ts'
import { removeLetters } from './letter-removal.ts'
import { insertLetter, readRepair, writtenLetter } from './letter-rows.ts'
import { countBrought } from './letter-tallies.ts'
import { instant } from './parcels.ts'
import type { Writer } from './writer.ts'

const STATE = 'SELECT state FROM reprieve_letter WHERE id = ?'
const NEWEST = 'SELECT coalesce(max(version), 0) AS version FROM reprieve_letter_repair WHERE letter = ?'
const ADD = 'INSERT INTO reprieve_letter_repair (letter, version, repair) VALUES (?, ?, ?)'
const VERSIONS = 'SELECT repair FROM reprieve_letter_repair WHERE letter = ? ORDER BY version'
const PUT = 'UPDATE reprieve_letter SET state = ?, state_at = ? WHERE id = ?'

export const deskOf = (file: File, writer: Writer): Desk => {
  /** Within one commit: each of them, and the act with those that took effect. */
  const each = <T>(
    items: readonly T[],
    idOf: (item: T) => string,
    act: ActOnLetters,
    one: (item: T) => boolean,
  ) =>
    writer.write(() => {
      const done = items.map(one)
      const ids = items.filter((_, i) => done[i]).map(idOf)
      if (ids.length > 0) appendTo(file, actOn(act, ids))
      return done
    }, items.length + 2)
  const isIn = (id: string, states: readonly LetterState[]): boolean =>
    states.includes(file.sql(STATE).get(id)?.state as LetterState)

  return {
    repair: (repairs, act) => {
      const texts = new Map(repairs.map((each) => [each, JSON.stringify(repairToJson(each.repair))]))
      const add = (wanted: NewRepair): boolean => {
        const { id, from, repair } = wanted
        if (!isIn(id, from) || file.sql(NEWEST).get(id)?.version !== repair.version - 1) return false
        file.sql(ADD).run(id, repair.version, texts.get(wanted)!)
        return true
      }
      return each(repairs, ({ id }) => id, act, add)
    },
    versions: (id) =>
      writer.read(() =>
        file
          .sql(VERSIONS)
          .all(id)
          .map(({ repair }) => readRepair(repair)),
      ),
    remove: (ids, from, act) =>
      writer.write(() => {
        const done = removeLetters(
          file,
          ids.map((id) => ({ id, from })),
        )
        const gone = ids.filter((_, i) => done[i])
        if (gone.length > 0) appendTo(file, actOn(act, gone))
        return done
      }, ids.length + 2),
    bring: (letters, act) => {
      const rows = new Map(letters.map(({ letter }) => [letter.id, writtenLetter(letter)]))
      const put = ({ letter, state, stateAt, repairs }: Brought): boolean => {
        if (!insertLetter(file, rows.get(letter.id)!)) return false
        file.sql(PUT).run(state, instant(stateAt), letter.id)
        countBrought(file, letter, state, stateAt)
        for (const repair of repairs)
          file.sql(ADD).run(letter.id, repair.version, JSON.stringify(repairToJson(repair)))
        return true
      }
      return each(letters, ({ letter }) => letter.id, act, put)
    },
  }
}
