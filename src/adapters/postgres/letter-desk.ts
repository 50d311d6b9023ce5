import type { Brought, Desk } from '../../contracts/desk.ts'
import { type ActOnLetters, actOn } from '../../core/acts.ts'
import { type Repair, repairToJson } from '../../core/repair.ts'
import type { Instant } from '../../core/time.ts'
import { appendTo } from './audit.ts'
import { wordOf } from './keys.ts'
import { lockLetters, writeAll } from './letter-marks.ts'
import { columnsOf, insertLetters, readRepair, talliedAs } from './letter-rows.ts'
import { change, countArrivals, joinGroups, noteResolved } from './letter-tallies.ts'
import { boundedOf } from './letter-words.ts'
import { lockHolds } from './operation-items.ts'
import type { Ask, Pool } from './pool.ts'
import { again } from './trouble.ts'

export const deskOf = (pool: Pool, schema: string, ready: () => Promise<void>): Desk => {
  /** One commit: what is done to each, and the act with those that it took effect on. */
  const each = async (
    ids: readonly string[],
    act: ActOnLetters,
    work: (ask: Ask) => Promise<readonly boolean[]>,
  ): Promise<readonly boolean[]> => {
    if (ids.length === 0) return []
    await ready()
    return again(() =>
      pool.transaction(async (ask) => {
        const done = await work(ask)
        const which = ids.filter((_, i) => done[i])
        if (which.length > 0) await appendTo(ask, schema, actOn(act, which))
        return done
      }),
    )
  }

  return {
    repair: (repairs, act) => {
      const ids = repairs.map(({ id }) => id)
      return each(ids, act, async (ask) => {
        const letters = await lockLetters(ask, schema, ids)
        const newest = await newestOf(ask, schema, [...letters.keys()])
        const done = repairs.map(({ id, from, repair }) => {
          const letter = letters.get(wordOf(id))
          if (!letter || !from.includes(letter.state)) return false
          if ((newest.get(letter.word) ?? 0) !== repair.version - 1) return false
          newest.set(letter.word, repair.version)
          return true
        })
        await addVersions(
          ask,
          schema,
          repairs.flatMap(({ id, repair }, i) => (done[i] ? [[id, repair] as const] : [])),
        )
        return done
      })
    },
    versions: async (id) => {
      await ready()
      const text = `SELECT repair FROM ${schema}.letter_repair WHERE letter = $1 ORDER BY version`
      return (await pool.ask({ text, values: [wordOf(id)] })).rows.map(({ repair }) => readRepair(repair))
    },
    remove: (ids, from, act) =>
      each(ids, act, async (ask) => {
        await lockHolds(ask, schema)
        const letters = await lockLetters(ask, schema, ids)
        const gone = new Set<string>()
        const done = ids.map((id) => {
          const letter = letters.get(wordOf(id))
          if (!letter || gone.has(letter.word) || !from.includes(letter.state)) return false
          gone.add(letter.word)
          return true
        })
        await writeAll(ask, schema, letters.values(), gone)
        return done
      }),
    bring: (letters, act) =>
      each(
        letters.map(({ letter }) => letter.id),
        act,
        (ask) => bring(ask, schema, letters),
      ),
  }
}

const newestOf = async (ask: Ask, schema: string, words: readonly string[]): Promise<Map<string, number>> => {
  const text = `SELECT letter, max(version) AS version FROM ${schema}.letter_repair WHERE letter = ANY ($1::text[]) GROUP BY letter`
  const { rows } = await ask({ text, values: [words] })
  return new Map(rows.map(({ letter, version }) => [letter as string, Number(version)]))
}

const addVersions = async (
  ask: Ask,
  schema: string,
  versions: readonly (readonly [id: string, repair: Repair])[],
): Promise<void> => {
  if (versions.length === 0) return
  await ask({
    text: `INSERT INTO ${schema}.letter_repair (letter, version, repair)
      SELECT * FROM unnest($1::text[], $2::integer[], $3::text[])`,
    values: [
      versions.map(([id]) => wordOf(id)),
      versions.map(([, { version }]) => version),
      versions.map(([, repair]) => JSON.stringify(repairToJson(repair))),
    ],
  })
}

/** With the state they had elsewhere. That they are here anew is no sign that their group came back. */
const bring = async (ask: Ask, schema: string, letters: readonly Brought[]): Promise<readonly boolean[]> => {
  const ids = await insertLetters(ask, schema, columnsOf(letters))
  // of one that is given twice the first counts
  const done = letters.map(({ letter }) => ids.delete(wordOf(letter.id)))
  const fresh = letters.filter((_, i) => done[i])
  if (fresh.length === 0) return done
  const groupOf = ({ letter }: Brought): string => boundedOf(String(letter.fingerprint))
  const groups = new Map(
    [...Map.groupBy(fresh, groupOf)].map(([group, some]) => [group, some.map(({ letter }) => letter)]),
  )
  await joinGroups(ask, schema, groups)
  const resolved = new Map<string, Instant>()
  for (const one of fresh) {
    const group = groupOf(one)
    if (one.state === 'resolved') resolved.set(group, Math.max(resolved.get(group) ?? 0, one.stateAt))
  }
  await noteResolved(ask, schema, resolved)
  await countArrivals(ask, schema, groups)
  await change(
    ask,
    schema,
    fresh.map(({ letter, state }) => [talliedAs(letter, state), 1]),
  )
  await addVersions(
    ask,
    schema,
    fresh.flatMap(({ letter, repairs }) => repairs.map((repair) => [letter.id, repair] as const)),
  )
  return done
}
