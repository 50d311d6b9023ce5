import type { KeptLetter, LetterFilter, Letters } from '../../contracts/letters.ts'
import type { Clock } from '../../contracts/tools.ts'
import { actOn } from '../../core/acts.ts'
import { ReprieveError } from '../../core/error.ts'
import { sieveFor } from '../../core/sift.ts'
import { appendTo } from './audit.ts'
import type { File } from './file.ts'
import { deskOf } from './letter-desk.ts'
import { groupsOf } from './letter-groups.ts'
import { markLetters } from './letter-marks.ts'
import { countLooking, outlines, type Place, page, sendables } from './letter-pages.ts'
import { all, insertLetter, isTallied, tallied, writtenLetter } from './letter-rows.ts'
import { countArrivals } from './letter-tallies.ts'
import { endItems } from './operation-items.ts'
import { instant } from './parcels.ts'
import type { Writer } from './writer.ts'

/** Where letters must be read to see whether they fit: so many at a time, then others have their turn. */
const CHUNK = 200
/** How many are looked at for one that is counted. */
const LOOKS = 5
const BEYOND_ALL = 2 ** 40

export const lettersOf = (file: File, writer: Writer, clock: Clock): Letters => {
  const placeOf = (id: string): Place => {
    const place = file.sql('SELECT buried_at FROM reprieve_letter WHERE id = ?').get(id)
    if (!place) throw new ReprieveError('unknown_letter', `there is no letter '${id}' to go on after`)
    return { at: place.buried_at as number, id }
  }

  /** Letters that fit what only reading them tells, in order, until enough are found or `looks` were read. */
  const sift = async (filter: LetterFilter, limit: number, after: string | undefined, looks: number) => {
    const sieve = sieveFor(filter)
    const found: KeptLetter[] = []
    let place = after === undefined ? undefined : await writer.read(() => placeOf(after))
    let looked = 0
    for (;;) {
      const wanted = sieve ? Math.min(CHUNK, looks - looked) : limit
      const some = await writer.read(() => page(file, filter, wanted, place))
      looked += some.length
      found.push(...(sieve ? some.filter(sieve) : some))
      if (some.length < wanted || !sieve || found.length >= limit)
        return { found: found.slice(0, limit), whole: true }
      if (looked >= looks) return { found, whole: false }
      const { letter } = some.at(-1)!
      place = { at: instant(letter.buriedAt), id: letter.id }
      await clock.sleep(0)
    }
  }

  const fromTallies = (filter: LetterFilter): number => {
    const { where, values } = all(tallied(filter))
    const row = file.sql(`SELECT sum(count) AS n FROM reprieve_letter_tally ${where}`).get(...values)
    return Number(row?.n ?? 0)
  }

  const countUpTo: Letters['countUpTo'] = async (filter, most) => {
    if (sieveFor(filter)) {
      const { found, whole } = await sift(filter, most + 1, undefined, most * LOOKS)
      return { count: Math.min(found.length, most), whole: whole && found.length <= most }
    }
    if (isTallied(filter)) return { count: await writer.read(() => fromTallies(filter)), whole: true }
    const { count, whole } = await writer.read(() => countLooking(file, filter, most * LOOKS))
    return { count: Math.min(count, most), whole: whole && count <= most }
  }

  const find: Letters['find'] = async (filter, limit, after) =>
    (await sift(filter, limit, after, BEYOND_ALL)).found

  return {
    keep: async (letters) => {
      const rows = letters.map((letter) => ({ letter, written: writtenLetter(letter) }))
      return writer.write(() => {
        const fresh = rows.filter(({ written }) => insertLetter(file, written))
        countArrivals(
          file,
          fresh.map(({ letter }) => letter),
          clock.now(),
        )
        return fresh.length
      }, rows.length)
    },
    find,
    outlines: async (filter, limit, after) => {
      // whether it fits is told by reading it: then it is read already
      if (sieveFor(filter)) return find(filter, limit, after)
      return writer.read(() =>
        outlines(file, filter, limit, after === undefined ? undefined : placeOf(after)),
      )
    },
    sendables: (ids) => writer.read(() => sendables(file, ids)),
    count: async (filter) => (await countUpTo(filter, BEYOND_ALL)).count,
    countUpTo,
    mark: (marks, act) =>
      writer.write(() => {
        const done = markLetters(file, marks)
        endItems(file, marks, done)
        const ids = act ? marks.flatMap(({ id }, i) => (done[i] ? [id] : [])) : []
        if (act && ids.length > 0) appendTo(file, actOn(act, ids))
        return done
      }, marks.length),
    groups: groupsOf(file, writer),
    desk: deskOf(file, writer),
  }
}
