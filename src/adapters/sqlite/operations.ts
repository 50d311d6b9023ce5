import type { SQLInputValue } from 'node:sqlite'
import type { Item, KeptOperation, OperationFilter, Operations } from '../../contracts/operations.ts'
import { actOn } from '../../core/acts.ts'
import type { Act } from '../../core/audit.ts'
import { ReprieveError } from '../../core/error.ts'
import { type ItemState, isLive, NO_ITEMS, type Operation } from '../../core/operation.ts'
import { appendTo } from './audit.ts'
import type { File } from './file.ts'
import { addItems, markItems } from './operation-items.ts'
import { instant } from './parcels.ts'
import type { Writer } from './writer.ts'

const BEGIN =
  'INSERT INTO reprieve_operation (id, live, version, body) VALUES (?, ?, 1, ?) ON CONFLICT DO NOTHING'
const READ = 'SELECT * FROM reprieve_operation WHERE id = ?'
const CHANGE = 'UPDATE reprieve_operation SET live = ?, body = ?, version = version + 1 WHERE number = ?'
const TALLIES =
  'SELECT state, because, count FROM reprieve_operation_tally WHERE operation = ? AND count <> 0'
const TAKE =
  'UPDATE reprieve_operation SET holder = ?, held_until = ?, version = version + ? WHERE number = ?'
const ITEMS = 'SELECT place, letter, state, because, at, repair FROM reprieve_operation_item'
const ALL_ITEMS = `${ITEMS} WHERE operation = ? AND place > ? ORDER BY place LIMIT ?`
/** No index knows states: where the last one that there is was found nothing more is looked at. */
const IN_STATES = 'state IN (SELECT value FROM json_each(?3))'
const ITEMS_IN = `
${ITEMS} WHERE operation = ?1 AND place > ?2 AND ${IN_STATES} ORDER BY place
LIMIT min(?4, (SELECT coalesce(sum(count), 0) FROM reprieve_operation_tally WHERE operation = ?1 AND ${IN_STATES}))`

type Row = Record<string, SQLInputValue>

export const operationsOf = (file: File, writer: Writer): Operations => {
  const rowOf = (id: string): Row | undefined => file.sql(READ).get(id) as Row | undefined
  const current = (id: string, version: number | undefined): Row | undefined => {
    const row = rowOf(id)
    return version === undefined || row?.version === version ? row : undefined
  }
  const keptAt = (id: string): KeptOperation => keptOf(file, rowOf(id)!)

  return {
    begin: (operation, act) => {
      const body = JSON.stringify(operation)
      return writer.write(() => {
        const { id, state } = operation
        if (file.sql(BEGIN).run(id, isLive(state) ? 1 : 0, body).changes !== 1) {
          throw new ReprieveError('bad_usage', `there is an operation '${id}' already`)
        }
        note(file, act)
        return keptAt(id)
      }, 2)
    },
    add: (id, version, items) =>
      writer.write(() => {
        const row = current(id, version)
        if (!row) return undefined
        addItems(file, row.number as number, items)
        return keptAt(id)
      }, items.length * 3),
    read: (id) =>
      writer.read(() => {
        const row = rowOf(id)
        return row && keptOf(file, row)
      }),
    list: (filter, limit, before) =>
      writer.read(() => {
        const { where, values } = conditions(filter, before)
        return file
          .sql(`SELECT * FROM reprieve_operation ${where} ORDER BY id DESC LIMIT ?`)
          .all(...values, limit)
          .map((row) => keptOf(file, row as Row))
      }),
    change: (operation, version, act) => {
      const body = JSON.stringify(operation)
      return writer.write(() => {
        const row = current(operation.id, version)
        if (!row) return undefined
        file.sql(CHANGE).run(isLive(operation.state) ? 1 : 0, body, row.number!)
        note(file, act)
        return keptAt(operation.id)
      }, 2)
    },
    mark: (id, version, marks, act) =>
      writer.write(() => {
        const row = current(id, version)
        if (!row) return undefined
        const { done, letters } = markItems(file, row.number as number, marks)
        if (act && letters.length > 0) appendTo(file, actOn(act, letters))
        return done
      }, marks.length * 2),
    items: (id, states, limit, after) =>
      writer.read(() => {
        const row = rowOf(id)
        if (!row) return []
        const behind = after ?? Number.MIN_SAFE_INTEGER
        const look = file.sql(states ? ITEMS_IN : ALL_ITEMS)
        look.setReturnArrays(true)
        const rows = states
          ? look.all(row.number!, behind, JSON.stringify(states), limit)
          : look.all(row.number!, behind, limit)
        return (rows as unknown as readonly ItemRow[]).map(itemOf)
      }),
    take: (id, name, now, until) =>
      writer.write(() => {
        const row = rowOf(id)
        if (!row) return undefined
        const mine = row.holder === name
        if (!mine && row.holder !== null && (row.held_until as number) > now) return undefined
        file.sql(TAKE).run(name, instant(until), mine ? 0 : 1, row.number!)
        return keptAt(id)
      }),
  }
}

const note = (file: File, act: Act | undefined): void => {
  if (act) appendTo(file, act)
}

const conditions = ({ live, beginning }: OperationFilter, before: string | undefined) => {
  const all: [string, ...SQLInputValue[]][] = []
  if (live !== undefined) all.push(['live = ?', live ? 1 : 0])
  if (beginning !== undefined) all.push(['id >= ? AND id < ?', beginning, `${beginning}\u{10ffff}`])
  if (before !== undefined) all.push(['id < ?', before])
  return {
    where: all.length > 0 ? `WHERE ${all.map(([text]) => text).join(' AND ')}` : '',
    values: all.flatMap(([, ...values]) => values),
  }
}

const keptOf = (file: File, row: Row): KeptOperation => {
  const counts: Record<ItemState, number> = { ...NO_ITEMS }
  const reasons: Record<string, number> = {}
  for (const { state, because, count } of file.sql(TALLIES).all(row.number!)) {
    counts[state as ItemState] += count as number
    if (because !== '') reasons[because as string] = (reasons[because as string] ?? 0) + (count as number)
  }
  return {
    operation: JSON.parse(row.body as string) as Operation,
    version: row.version as number,
    counts,
    reasons,
    ...(row.holder !== null && { holder: { name: row.holder as string, until: row.held_until as number } }),
  }
}

type ItemRow = readonly [
  place: number,
  letter: string,
  state: ItemState,
  because: string,
  at: number,
  repair: string,
]

const itemOf = ([place, letter, state, because, at, repair]: ItemRow): Item => {
  const item = because === '' ? { place, letter, state, at } : { place, letter, state, because, at }
  return repair === '' ? item : { ...item, repair }
}
