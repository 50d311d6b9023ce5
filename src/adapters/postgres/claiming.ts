import { type Claim, claimRow, isSamePayload, type LedgerKey, type LedgerRow } from '../../core/ledger.ts'
import type { Instant } from '../../core/time.ts'
import { inOrder, type Name, nameOf, textOf } from './keys.ts'
import type { Ask, Pool } from './pool.ts'
import type { HeldRow, Kept, RowStatements } from './rows.ts'
import { again, stateOf, UNIQUE_VIOLATION } from './trouble.ts'

/** Nearly every key is new: then one statement is all. It writes all of them or, where any is known, none. */
export const claimAll = async (
  pool: Pool,
  statements: RowStatements,
  keys: readonly LedgerKey[],
  asking: Asking,
): Promise<readonly Claim[]> => {
  const { groups, names } = namesOf(keys)
  const fresh = names.map((name) => decided(name, groups, undefined, asking))
  try {
    const { rowCount } = await pool.ask(statements.insertAllOrNone(fresh.map(keptOf), asking.holder))
    if (rowCount === names.length) return answersTo(keys, fresh)
  } catch (error) {
    if (stateOf(error) !== UNIQUE_VIOLATION) throw error // between its look and its write somebody else was there
  }
  return again(() => pool.transaction((ask) => claimWithin(ask, statements, keys, asking)))
}

/** The same within a transaction, which must not fail for a key that is known. */
export const claimWithin = async (
  ask: Ask,
  statements: RowStatements,
  keys: readonly LedgerKey[],
  asking: Asking,
): Promise<readonly Claim[]> => {
  const { groups, names } = namesOf(keys)
  const decide = (name: Name, row: HeldRow | undefined) => decided(name, groups, row, asking)
  return answersTo(keys, await claimKnown(ask, statements, names, asking.holder, decide))
}

const namesOf = (
  keys: readonly LedgerKey[],
): { readonly groups: Groups; readonly names: readonly Name[] } => {
  const groups = Map.groupBy(
    keys.map((key, at) => ({ key, at })),
    ({ key }) => textOf(nameOf(key)),
  )
  const firsts = [...groups.values()].map(([first]) => nameOf(first!.key))
  return { groups, names: inOrder(firsts, (name) => name) }
}

const answersTo = (keys: readonly LedgerKey[], decisions: readonly Decision[]): readonly Claim[] => {
  const claims = new Map(decisions.flatMap(({ claims }) => claims))
  return keys.map((_, at) => claims.get(at)!)
}

export interface Asking {
  readonly now: Instant
  readonly until: Instant
  /** The name of this claim. */
  readonly holder: string
  /** The names of claims of ours that got no answer. */
  readonly unanswered: ReadonlySet<string>
}

/** By the text of the row's name. */
type Groups = ReadonlyMap<string, readonly { readonly key: LedgerKey; readonly at: number }[]>

interface Decision {
  readonly name: Name
  /** With the place of its key among those that were asked for. */
  readonly claims: readonly (readonly [number, Claim])[]
  /** Where it changes. */
  readonly row: LedgerRow | undefined
}

/** What `claimRow` answers to each key of one row, one after another: a key given twice is busy the second time. */
const decided = (
  name: Name,
  groups: Groups,
  row: HeldRow | undefined,
  { now, until, unanswered }: Asking,
): Decision => {
  let current: LedgerRow | undefined = row
  let changed: LedgerRow | undefined
  const claims = groups.get(textOf(name))!.map(({ key, at }) => {
    const own = row && row === current && unanswered.has(row.holder)
    const decision = (own && gotAfterAll(row, key, until)) || claimRow(current, key, now, until)
    if (decision.row) current = changed = decision.row
    return [at, decision.claim] as const
  })
  return { name, claims, row: changed }
}

/** What was claimed before, and never answered. */
const gotAfterAll = (
  row: LedgerRow,
  key: LedgerKey,
  until: Instant,
): ReturnType<typeof claimRow> | undefined => {
  const { hash, generation, attempt, token, crashes } = row
  const same = isSamePayload(hash, key.hash) && generation === key.generation && attempt === key.attempt
  if (row.state !== 'claimed' || !same) return undefined
  return { claim: { is: 'fresh', held: { key, token }, crashes }, row: { ...row, until } }
}

const keptOf = ({ name, row }: Decision): Kept => ({ name, row: row! })

/**
 * Some are known. New rows first, then the known ones under lock, both in the order of their names, so that nobody
 * waits in a circle: whoever inserts waits only for those who insert or lock, whoever locks only for those who lock.
 * A known row may have been cleared away before it was locked: then it is new.
 */
const claimKnown = async (
  ask: Ask,
  statements: RowStatements,
  names: readonly Name[],
  holder: string,
  decide: (name: Name, row: HeldRow | undefined) => Decision,
): Promise<readonly Decision[]> => {
  const decisions: Decision[] = []
  for (let open = names; open.length > 0; ) {
    const fresh = new Map(open.map((name) => [textOf(name), decide(name, undefined)]))
    const inserted = await ask(statements.insertNew([...fresh.values()].map(keptOf), holder))
    for (const row of inserted.rows) decisions.push(take(fresh, row as unknown as Name))
    if (fresh.size === 0) break
    const locked = await ask(statements.lock([...fresh.values()].map(({ name }) => name)))
    const known = locked.rows.map((row) => {
      const { name } = take(fresh, row as unknown as Name)
      return decide(name, statements.read(row))
    })
    decisions.push(...known)
    const changed = known.filter(({ row }) => row)
    if (changed.length > 0) await ask(statements.update(changed.map(keptOf), holder))
    open = [...fresh.values()].map(({ name }) => name)
  }
  return decisions
}

const take = (from: Map<string, Decision>, name: Name): Decision => {
  const found = from.get(textOf(name))!
  from.delete(textOf(name))
  return found
}
