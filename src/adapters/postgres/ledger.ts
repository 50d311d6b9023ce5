import type { Ledger } from '../../contracts/ledger.ts'
import type { Tools } from '../../contracts/tools.ts'
import {
  type Claim,
  claimRow,
  finishRow,
  type Held,
  isSamePayload,
  type LedgerKey,
  type LedgerRow,
} from '../../core/ledger.ts'
import type { Instant } from '../../core/time.ts'
import { instant, type Name, nameOf, textOf } from './keys.ts'
import type { Ask, Pool } from './pool.ts'
import { type HeldRow, type Kept, type RowStatements, rowStatements } from './rows.ts'
import { again, stateOf, UNIQUE_VIOLATION } from './trouble.ts'
import { createUnanswered } from './unanswered.ts'

/** `wrote` is told how many rows were claimed, for whoever clears away. */
export const ledgerOf = (
  pool: Pool,
  schema: string,
  { clock, dice }: Tools,
  wrote: (rows: number) => void,
): Ledger => {
  const statements = rowStatements(schema)
  const unanswered = createUnanswered(dice)
  return {
    claim: async (keys, until) => {
      if (keys.length === 0) return []
      const claims = await unanswered.claim((holder) => {
        const asking = { now: clock.now(), until: instant(until), holder, unanswered: unanswered.holders }
        return claimAll(pool, statements, keys, asking)
      })
      wrote(keys.length)
      return claims
    },
    begin: async (held) => (await again(() => pool.ask(statements.begin(held)))).rows.length === 1,
    renew: async (held, until) => {
      if (held.length > 0)
        await again(() => pool.ask(statements.renew(inOrder(held, heldName), instant(until))))
    },
    acquit: async (held) => {
      if (held.length === 0) return []
      const { rows } = await again(() => pool.ask(statements.acquit(inOrder(held, heldName))))
      const acquitted = new Set(rows.map(({ service, id }) => textOf({ service, id } as Name)))
      return held.map((each) => acquitted.delete(textOf(heldName(each))))
    },
    finish: async (ends) => {
      if (ends.length === 0) return []
      const now = clock.now()
      // of two ends of one claim the second changes nothing
      const first = new Map(ends.map(({ held, as }) => [placeOf(held), { held, as }] as const).reverse())
      const rows = [...first.values()].map(({ held, as }): Kept => {
        const row = finishRow(claimedUnder(held), held, as, now)!
        return { name: heldName(held), row: { ...row, until: instant(row.until) } }
      })
      const { rows: ended } = await again(() =>
        pool.ask(statements.finish(inOrder(rows, ({ name }) => name))),
      )
      const done = new Set(
        ended.map(({ service, id, token }) => `${textOf({ service, id } as Name)}\u0000${token}`),
      )
      return ends.map(({ held }) => done.delete(placeOf(held)))
    },
  }
}

/** Nearly every key is new: then one statement is all. It writes all of them or, where any is known, none. */
const claimAll = async (
  pool: Pool,
  statements: RowStatements,
  keys: readonly LedgerKey[],
  asking: Asking,
): Promise<readonly Claim[]> => {
  const { holder } = asking
  const groups = Map.groupBy(
    keys.map((key, at) => ({ key, at })),
    ({ key }) => textOf(nameOf(key)),
  )
  const names = inOrder(
    [...groups.values()].map(([first]) => nameOf(first!.key)),
    (name) => name,
  )
  const fresh = names.map((name) => decided(name, groups, undefined, asking))
  const answers = (decisions: readonly Decision[]): readonly Claim[] => {
    const claims = new Map(decisions.flatMap(({ claims }) => claims))
    return keys.map((_, at) => claims.get(at)!)
  }
  try {
    const { rowCount } = await pool.ask(statements.insertAllOrNone(fresh.map(keptOf), holder))
    if (rowCount === names.length) return answers(fresh)
  } catch (error) {
    if (stateOf(error) !== UNIQUE_VIOLATION) throw error // between its look and its write somebody else was there
  }
  return again(() =>
    pool.transaction(async (ask) => {
      const decide = (name: Name, row: HeldRow | undefined) => decided(name, groups, row, asking)
      return answers(await claimKnown(ask, statements, names, holder, decide))
    }),
  )
}

interface Asking {
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

const heldName = ({ key }: Held): Name => nameOf(key)
const placeOf = (held: Held): string => `${textOf(heldName(held))}\u0000${held.token}`

/** By bytes, as the server sorts: characters beyond the first 65,536 would sort otherwise here. */
const inOrder = <T>(items: readonly T[], name: (item: T) => Name): readonly T[] =>
  items
    .map((item) => ({ item, bytes: Buffer.from(textOf(name(item))) }))
    .sort((a, b) => Buffer.compare(a.bytes, b.bytes))
    .map(({ item }) => item)

/** The row as it must be for the claim to hold, which the statement's own condition makes sure; with one crash, to keep. */
const claimedUnder = ({ key, token }: Held): LedgerRow => ({
  hash: key.hash,
  state: 'claimed',
  generation: key.generation,
  attempt: key.attempt,
  token,
  until: 0,
  crashes: 1,
  begun: false,
})
