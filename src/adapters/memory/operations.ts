import type { KeptLetter } from '../../contracts/letters.ts'
import type { Item, ItemMark, KeptOperation, NewItem, Operations } from '../../contracts/operations.ts'
import { actOn } from '../../core/acts.ts'
import type { Act } from '../../core/audit.ts'
import { ReprieveError } from '../../core/error.ts'
import { type ItemState, isLive, NO_ITEMS, type Operation } from '../../core/operation.ts'
import { narrow } from './desk.ts'
import { type KeptGroups, noteResolved } from './groups.ts'

interface Row {
  operation: Operation
  version: number
  holder?: { readonly name: string; readonly until: number }
  /** By place, in no order. */
  readonly items: Map<number, Item>
  readonly letters: Set<string>
}

/** The operations of a world, and which has each letter, or had it last. */
export interface KeptOperations {
  readonly rows: Map<string, Row>
  readonly holds: Map<string, { readonly operation: string; readonly place: number }>
}

export const noOperations = (): KeptOperations => ({ rows: new Map(), holds: new Map() })

const next = ({ because: _, ...item }: Item, state: ItemState, at: number, because?: string): Item => ({
  ...item,
  state,
  ...(because !== undefined && { because }),
  at,
})

/** A letter came back from a replay: so did its item. */
export const endItem = (
  kept: KeptOperations,
  letter: string,
  to: 'resolved' | 'dead again',
  at: number,
): void => {
  const hold = kept.holds.get(letter)
  const row = hold && kept.rows.get(hold.operation)
  const item = row?.items.get(hold!.place)
  if (!row || !item || (item.state !== 'sending' && item.state !== 'sent')) return
  row.items.set(item.place, next(item, to, at))
}

export const operationsOf = (
  kept: KeptOperations,
  letters: Map<string, KeptLetter>,
  groups: KeptGroups,
  append: (act: Act) => unknown,
): Operations => {
  const { rows, holds } = kept
  const current = (id: string, version: number | undefined): Row | undefined => {
    const row = rows.get(id)
    return version === undefined || row?.version === version ? row : undefined
  }
  const isHeld = (letter: string): boolean => {
    const hold = holds.get(letter)
    const row = hold && rows.get(hold.operation)
    return row !== undefined && isLive(row.operation.state)
  }

  const add = (row: Row, { place, letter, state, because, at, repair }: NewItem): void => {
    if (row.items.has(place) || row.letters.has(letter)) return
    const refused = state === 'waiting' && isHeld(letter)
    if (state === 'waiting' && !refused) holds.set(letter, { operation: row.operation.id, place })
    const why = refused ? 'in another operation' : because
    row.letters.add(letter)
    row.items.set(place, {
      place,
      letter,
      state: refused ? 'skipped' : state,
      ...(why !== undefined && { because: why }),
      at,
      ...(repair !== undefined && { repair }),
    })
  }

  const mark = (row: Row, { place, from, to, because, at, letter: change }: ItemMark): string | undefined => {
    const item = row.items.get(place)
    if (!item || !from.includes(item.state)) return undefined
    const { letter } = item
    if (change) {
      const found = letters.get(letter)
      if (!found || !change.from.includes(found.state)) return undefined
      if (change.to === 'removed') {
        letters.delete(letter)
        holds.delete(letter)
        narrow(letters, groups, found.letter.fingerprint)
      } else {
        letters.set(letter, { ...found, state: change.to, stateAt: at })
        if (change.to === 'resolved') noteResolved(groups, found.letter.fingerprint, at)
      }
    }
    if (to === 'skipped' || to === 'failed') {
      if (holds.get(letter)?.operation === row.operation.id) holds.delete(letter)
    }
    row.items.set(place, next(item, to, at, because))
    return letter
  }

  return {
    begin: async (operation, act) => {
      if (rows.has(operation.id)) {
        throw new ReprieveError('bad_usage', `there is an operation '${operation.id}' already`)
      }
      const row: Row = { operation: copied(operation), version: 1, items: new Map(), letters: new Set() }
      rows.set(operation.id, row)
      if (act) append(act)
      return keptOf(row)
    },
    add: async (id, version, items) => {
      const row = current(id, version)
      if (!row) return undefined
      for (const item of items) add(row, item)
      return keptOf(row)
    },
    read: async (id) => {
      const row = rows.get(id)
      return row && keptOf(row)
    },
    list: async ({ live, beginning = '' }, limit, before) =>
      [...rows.values()]
        .filter(({ operation: { id, state } }) => {
          return id.startsWith(beginning) && (live === undefined || live === isLive(state))
        })
        .filter(({ operation: { id } }) => before === undefined || id < before)
        .sort((a, b) => (a.operation.id < b.operation.id ? 1 : -1))
        .slice(0, limit)
        .map(keptOf),
    change: async (operation, version, act) => {
      const row = current(operation.id, version)
      if (!row) return undefined
      row.operation = copied(operation)
      row.version++
      if (act) append(act)
      return keptOf(row)
    },
    mark: async (id, version, marks, act) => {
      const row = current(id, version)
      if (!row) return undefined
      const marked = marks.map((each) => mark(row, each))
      const ids = marked.filter((letter) => letter !== undefined)
      if (act && ids.length > 0) append(actOn(act, ids))
      return marked.map((letter) => letter !== undefined)
    },
    items: async (id, states, limit, after = Number.NEGATIVE_INFINITY) =>
      [...(rows.get(id)?.items.values() ?? [])]
        .filter(({ place, state }) => place > after && (states?.includes(state) ?? true))
        .sort((a, b) => a.place - b.place)
        .slice(0, limit),
    take: async (id, name, now, until) => {
      const row = rows.get(id)
      if (!row) return undefined
      const mine = row.holder?.name === name
      if (!mine && row.holder && row.holder.until > now) return undefined
      row.holder = { name, until }
      if (!mine) row.version++
      return keptOf(row)
    },
  }
}

/** As a database would: nobody changes what he was given, or gave. */
const copied = (operation: Operation): Operation => JSON.parse(JSON.stringify(operation)) as Operation

const keptOf = ({ operation, version, holder, items }: Row): KeptOperation => {
  const counts: Record<ItemState, number> = { ...NO_ITEMS }
  const reasons: Record<string, number> = {}
  for (const { state, because } of items.values()) {
    counts[state]++
    if (because !== undefined) reasons[because] = (reasons[because] ?? 0) + 1
  }
  return { operation: copied(operation), version, counts, reasons, ...(holder && { holder }) }
}
