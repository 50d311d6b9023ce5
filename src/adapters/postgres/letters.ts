import type { KeptLetter, LetterFilter, Letters } from '../../contracts/letters.ts'
import type { Clock } from '../../contracts/tools.ts'
import { ReprieveError } from '../../core/error.ts'
import { ARRIVALS_KEPT, SLOT, slotOf } from '../../core/group.ts'
import { firstState, type Letter } from '../../core/letter.ts'
import { sieveFor } from '../../core/sift.ts'
import type { Instant } from '../../core/time.ts'
import { instant, wordOf } from './keys.ts'
import { countDeaths } from './letter-deaths.ts'
import { deskOf } from './letter-desk.ts'
import { groupsOf } from './letter-groups.ts'
import { markAll } from './letter-marks.ts'
import { countLooking, countTallied, outlines, type Place, page, sendables } from './letter-pages.ts'
import { columnsOf, insertLetters, isTallied, talliedAs } from './letter-rows.ts'
import { change, countArrivals, joinGroups, noteBack } from './letter-tallies.ts'
import { boundedOf } from './letter-words.ts'
import type { Ask, Pool } from './pool.ts'
import { again } from './trouble.ts'

/** Where letters must be read to see whether they fit: so many at a time. */
const CHUNK = 200
/** How many are looked at for one that is counted. */
const LOOKS = 5
const BEYOND_ALL = 2 ** 40

/** `ready` makes the tables where they are missing. */
export const lettersOf = (pool: Pool, schema: string, clock: Clock, ready: () => Promise<void>): Letters => {
  let tidied: Instant = 0

  const placeOf = async (id: string): Promise<Place> => {
    const text = `SELECT buried_at FROM ${schema}.letter WHERE id = $1`
    const { rows } = await pool.ask({ text, values: [wordOf(id)] })
    if (rows[0]) return { at: Number(rows[0].buried_at), id: wordOf(id) }
    throw new ReprieveError('unknown_letter', `there is no letter '${id}' to go on after`)
  }

  /** Letters that fit what only reading them tells, in order, until enough are found or `looks` were read. */
  const sift = async (filter: LetterFilter, limit: number, after: string | undefined, looks: number) => {
    const sieve = sieveFor(filter)
    await ready()
    const found: KeptLetter[] = []
    let place = after === undefined ? undefined : await placeOf(after)
    for (let looked = 0; ; ) {
      const wanted = sieve ? Math.min(CHUNK, looks - looked) : limit
      const some = await page(pool.ask, schema, filter, wanted, place)
      looked += some.length
      found.push(...(sieve ? some.filter(sieve) : some))
      if (some.length < wanted || !sieve || found.length >= limit)
        return { found: found.slice(0, limit), whole: true }
      if (looked >= looks) return { found, whole: false }
      const { letter } = some.at(-1)!
      place = { at: instant(letter.buriedAt), id: wordOf(letter.id) }
    }
  }

  const countUpTo: Letters['countUpTo'] = async (filter, most) => {
    if (sieveFor(filter)) {
      const { found, whole } = await sift(filter, most + 1, undefined, most * LOOKS)
      return { count: Math.min(found.length, most), whole: whole && found.length <= most }
    }
    await ready()
    if (isTallied(filter)) return { count: await countTallied(pool.ask, schema, filter), whole: true }
    const { count, whole } = await countLooking(pool.ask, schema, filter, most * LOOKS)
    return { count: Math.min(count, most), whole: whole && count <= most }
  }

  const keepAll = async (ask: Ask, columns: readonly unknown[][], letters: readonly Letter[]) => {
    const ids = await insertLetters(ask, schema, columns)
    // of one that is given twice the first counts
    const fresh = letters.filter(({ id }) => ids.delete(wordOf(id)))
    if (fresh.length > 0) await countFresh(ask, fresh)
    return fresh.length
  }

  const countFresh = async (ask: Ask, fresh: readonly Letter[]): Promise<void> => {
    const groups = Map.groupBy(fresh, ({ fingerprint }) => boundedOf(String(fingerprint)))
    const resolved = await joinGroups(ask, schema, groups)
    const back = [...groups].flatMap(([fingerprint, [first]]) =>
      first!.buriedAt > (resolved.get(fingerprint) ?? Number.POSITIVE_INFINITY)
        ? [[fingerprint, first!.buriedAt] as const]
        : [],
    )
    await noteBack(ask, schema, new Map(back))
    await change(
      ask,
      schema,
      fresh.map((letter) => [talliedAs(letter, firstState(letter)), 1]),
    )
    await countArrivals(ask, schema, groups)
    await countDeaths(ask, schema, fresh)
    await tidy(ask)
  }

  /** Drops arrivals of long ago now and then. The last thing in a transaction, and waits for nobody. */
  const tidy = async (ask: Ask): Promise<void> => {
    const now = clock.now()
    if (now < tidied + SLOT) return
    tidied = now
    await ask({
      text: `DELETE FROM ${schema}.letter_arrival WHERE ctid = ANY (ARRAY (
        SELECT ctid FROM ${schema}.letter_arrival WHERE slot < $1 LIMIT 10000 FOR UPDATE SKIP LOCKED))`,
      values: [slotOf(instant(now - ARRIVALS_KEPT))],
    })
  }

  const find: Letters['find'] = async (filter, limit, after) =>
    (await sift(filter, limit, after, BEYOND_ALL)).found

  return {
    keep: async (letters) => {
      if (letters.length === 0) return 0
      const columns = columnsOf(
        letters.map((letter) => ({ letter, state: firstState(letter), stateAt: letter.buriedAt })),
      )
      await ready()
      return again(() => pool.transaction((ask) => keepAll(ask, columns, letters)))
    },
    find,
    outlines: async (filter, limit, after) => {
      // whether it fits is told by reading it: then it is read already
      if (sieveFor(filter)) return find(filter, limit, after)
      await ready()
      return outlines(pool.ask, schema, filter, limit, after === undefined ? undefined : await placeOf(after))
    },
    sendables: async (ids) => {
      await ready()
      return sendables(pool.ask, schema, ids)
    },
    count: async (filter) => (await countUpTo(filter, BEYOND_ALL)).count,
    countUpTo,
    mark: async (marks, act) => {
      if (marks.length === 0) return []
      await ready()
      return again(() => pool.transaction((ask) => markAll(ask, schema, marks, act)))
    },
    groups: groupsOf(pool, schema, ready),
    desk: deskOf(pool, schema, ready),
  }
}
