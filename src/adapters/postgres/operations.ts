import type {
  Item,
  ItemMark,
  KeptOperation,
  OperationFilter,
  Operations,
} from '../../contracts/operations.ts'
import { type ActOnLetters, actOn } from '../../core/acts.ts'
import { ReprieveError } from '../../core/error.ts'
import { type ItemState, isLive, NO_ITEMS, type Operation } from '../../core/operation.ts'
import { appendTo } from './audit.ts'
import type { Result, Statement } from './client.ts'
import { instant, wordOf } from './keys.ts'
import { decide, lockLettersOf, writeAll } from './letter-marks.ts'
import { behind, type Condition, type Locked, places, type Row, where } from './letter-rows.ts'
import { readText, textOf } from './letter-words.ts'
import { addFresh, addItems, canBeFresh, itemsAt, lockHolds } from './operation-items.ts'
import { isSpan, markItems, markSpan } from './operation-marks.ts'
import { endStep, isStep, moveLetters, OfAnotherVersion, Uneven } from './operation-steps.ts'
import { type Ask, type Pool, SAY_BEGUN } from './pool.ts'
import { again, stateOf, UNIQUE_VIOLATION } from './trouble.ts'

/** `ready` makes the tables where they are missing. */
export const operationsOf = (pool: Pool, schema: string, ready: () => Promise<void>): Operations => {
  const write = async <T>(
    work: (ask: Ask, first: readonly Result[], last: Ask) => Promise<T>,
    ...first: readonly Statement[]
  ): Promise<T> => {
    await ready()
    return again(() => pool.transaction(work, first))
  }
  /** The operation with its tallies, by one statement: they are of one moment. */
  const kept = `
    SELECT o.*, (SELECT json_agg(json_build_array(t.state, t.because, t.count)) FROM ${schema}.operation_tally AS t
      WHERE t.operation = o.number AND t.count <> 0) AS tallies
    FROM ${schema}.operation AS o`
  const readBy = async (ask: Ask, id: string): Promise<KeptOperation | undefined> => {
    const text = `${kept} WHERE o.id = $1`
    const { rows } = await ask({ name: `reprieve ${schema} kept op`, text, values: [wordOf(id)] })
    return rows[0] && keptOf(rows[0])
  }
  /** Its row, ours until the commit. */
  const locking = (id: string): Statement => ({
    name: `reprieve ${schema} op`,
    text: `SELECT * FROM ${schema}.operation WHERE id = $1 FOR UPDATE`,
    values: [wordOf(id)],
  })
  const rowIn = (locked: Result | undefined, version?: number): Row | undefined => {
    const row = locked?.rows[0]
    return version === undefined || Number(row?.version) === version ? row : undefined
  }
  /** Where it is of that version. */
  const lock = async (ask: Ask, id: string, version?: number): Promise<Row | undefined> =>
    rowIn(await ask(locking(id)), version)

  /** All at once. undefined: they are not all that can be marked there; each mark is to be looked at by itself. */
  const together = async (
    id: string,
    version: number | undefined,
    marks: readonly ItemMark[],
    act?: ActOnLetters,
  ): Promise<{ readonly done: readonly boolean[] | undefined } | undefined> => {
    const plain = !act && marks.every(({ letter }) => !letter)
    if (!(plain ? isSpan(marks) : isStep(marks))) return undefined
    const moving = plain ? [] : [moveLetters(schema, id, marks)]
    try {
      await write(
        async (ask, answers, last) => {
          const [changed, locked, moved] = answers.toReversed()
          if (!rowIn(locked, version)) throw new OfAnotherVersion()
          if (changed!.rows.length === 0) throw new Uneven()
          if (!plain) await endStep({ ask, last }, schema, moved!, marks, act)
        },
        ...[SAY_BEGUN, ...moving, locking(id), markSpan(schema, id, marks)],
      )
      return { done: marks.map(() => true) }
    } catch (error) {
      if (error instanceof Uneven) return undefined
      if (error instanceof OfAnotherVersion) return { done: undefined }
      throw error
    }
  }

  return {
    begin: (operation, act) =>
      write(async (ask) => {
        const { id, state } = operation
        const { rowCount } = await ask({
          text: `INSERT INTO ${schema}.operation (id, live, version, body) VALUES ($1, $2, 1, $3) ON CONFLICT DO NOTHING`,
          values: [wordOf(id), isLive(state), JSON.stringify(operation)],
        })
        if (rowCount !== 1) throw new ReprieveError('bad_usage', `there is an operation '${id}' already`)
        if (act) await appendTo(ask, schema, act)
        return (await readBy(ask, id))!
      }),
    add: async (id, version, items) => {
      const addBy = (way: typeof addItems) =>
        write(async (ask, [locked], last) => {
          const row = rowIn(locked, version)
          if (!row) return undefined
          await way(ask, schema, row.number as string, items)
          return readBy(last, id)
        }, locking(id))
      if (!canBeFresh(items)) return addBy(addItems)
      try {
        return await addBy(addFresh)
      } catch (error) {
        if (stateOf(error) === UNIQUE_VIOLATION) return addBy(addItems)
        throw error
      }
    },
    read: async (id) => {
      await ready()
      return readBy(pool.ask, id)
    },
    list: async (filter, limit, before) => {
      await ready()
      const { values, put } = places()
      const text = `${kept} ${where(fits(filter, before), put)} ORDER BY o.id DESC LIMIT ${put(limit)}`
      return (await pool.ask({ text, values })).rows.map(keptOf)
    },
    change: (operation, version, act) =>
      write(async (ask, [locked]) => {
        const row = rowIn(locked, version)
        if (!row) return undefined
        await ask({
          text: `UPDATE ${schema}.operation SET live = $2, body = $3, version = version + 1 WHERE number = $1`,
          values: [row.number, isLive(operation.state), JSON.stringify(operation)],
        })
        if (act) await appendTo(ask, schema, act)
        return readBy(ask, operation.id)
      }, locking(operation.id)),
    mark: async (id, version, marks, act) => {
      const all = await together(id, version, marks, act)
      if (all) return all.done
      return write(async (ask) => {
        if (marks.some(({ letter }) => letter?.to === 'removed')) await lockHolds(ask, schema)
        const at = marks.map(({ place }) => place)
        // which letters they are never changes: letters are locked first, as everywhere
        const letters = marks.some(({ letter }) => letter)
          ? await lockLettersOf(ask, schema, wordOf(id), at)
          : new Map<string, Locked>()
        const row = await lock(ask, id, version)
        if (!row) return undefined
        const operation = row.number as string
        const items = await itemsAt(ask, schema, operation, at)
        const gone = new Set<string>()
        const done = await markItems(
          ask,
          schema,
          operation,
          items,
          marks,
          ({ letter, at: when }, { word }) => {
            if (!letter) return true
            const { from, to } = letter
            const found = gone.has(word) ? undefined : letters.get(word)
            if (to !== 'removed') return decide(found, { from, to, at: when })
            if (!found || !from.includes(found.state)) return false
            gone.add(word)
            return true
          },
        )
        await writeAll(ask, schema, letters.values(), gone)
        const ids = marks.flatMap(({ place }, i) => (done[i] ? [items.get(place)!.letter] : []))
        if (act && ids.length > 0) await appendTo(ask, schema, actOn(act, ids))
        return done
      })
    },
    items: async (id, states, limit, after) => {
      await ready()
      const { values, put } = places()
      const from = `${schema}.operation_item AS i WHERE i.operation = (SELECT number FROM ${schema}.operation WHERE id = ${put(wordOf(id))})
        AND i.place > ${put(after ?? Number.MIN_SAFE_INTEGER)}`
      const [some, most] = [states && put(states), put(limit)]
      // no index knows states: where the last one that there is was found nothing more is looked at
      const found = some
        ? `${from} AND i.state = ANY (${some}::text[]) ORDER BY i.place LIMIT least(${most}, (
            SELECT coalesce(sum(t.count), 0)::bigint FROM ${schema}.operation_tally AS t, ${schema}.operation AS o
            WHERE o.id = $1 AND t.operation = o.number AND t.state = ANY (${some}::text[])))`
        : `${from} ORDER BY i.place LIMIT ${most}`
      const text = `SELECT i.place, i.letter, i.name, i.state, i.because, i.at, i.repair FROM ${found}`
      const name = `reprieve ${schema} items${states ? ' in' : ''}`
      return (await pool.ask({ name, text, values })).rows.map(itemOf)
    },
    take: (id, name, now, until) =>
      write(async (ask, [locked]) => {
        const row = rowIn(locked)
        if (!row) return undefined
        const mine = row.holder === textOf(name)
        if (!mine && row.holder !== null && Number(row.held_until) > now) return undefined
        await ask({
          text: `UPDATE ${schema}.operation SET holder = $2, held_until = $3, version = version + $4 WHERE number = $1`,
          values: [row.number, textOf(name), instant(until), mine ? 0 : 1],
        })
        return readBy(ask, id)
      }, locking(id)),
  }
}

const fits = ({ live, beginning }: OperationFilter, before: string | undefined): readonly Condition[] => [
  ...(live === undefined ? [] : [() => `o.live = ${live}`]),
  ...(beginning === undefined
    ? []
    : [
        ((put) =>
          `o.id >= ${put(textOf(beginning))} AND o.id < ${put(behind(beginning))}`) satisfies Condition,
      ]),
  ...(before === undefined ? [] : [((put) => `o.id < ${put(wordOf(before))}`) satisfies Condition]),
]

const keptOf = (row: Row): KeptOperation => {
  const counts: Record<ItemState, number> = { ...NO_ITEMS }
  const reasons: Record<string, number> = {}
  for (const [state, because, count] of (row.tallies ?? []) as [ItemState, string, number][]) {
    counts[state] += count
    const why = readText(because)
    if (why !== '') reasons[why] = (reasons[why] ?? 0) + count
  }
  const { holder, held_until } = row
  return {
    operation: JSON.parse(row.body as string) as Operation,
    version: Number(row.version),
    counts,
    reasons,
    ...(holder !== null && { holder: { name: readText(holder as string), until: Number(held_until) } }),
  }
}

const itemOf = ({ place, letter, name, state, because, at, repair }: Row): Item => ({
  place: Number(place),
  letter: name === null ? (letter as string) : readText(name as string),
  state: state as ItemState,
  ...(because !== '' && { because: readText(because as string) }),
  at: Number(at),
  ...(repair !== '' && { repair: repair as string }),
})
