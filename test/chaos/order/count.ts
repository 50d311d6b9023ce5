import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'

/** What happened, told by the workers' own file, a line for each effect: `key n pid`. */
export interface OrderCount {
  /** First effects of each key, in the order in which they happened. */
  readonly byKey: ReadonlyMap<string, readonly number[]>
  readonly firsts: number
  /** Effects beyond the first: a worker died between its effect and the settlement. */
  readonly doubled: number
  /** Effects of a key that came after one that was published later. */
  readonly wentBack: number
  /** How many workers had effects: order is nothing to boast of where one did all. */
  readonly workers: number
}

type Effect = readonly [key: string, n: string, worker: string]

export const effectsIn = (path: string): readonly Effect[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => line.split(' ') as unknown as Effect)

const nameOf = ([key, n]: Effect): string => `${key} ${n}`

export const countOrder = (effects: readonly Effect[]): OrderCount => {
  const seen = new Set<string>()
  const firsts = effects.filter((each) => seen.size < seen.add(nameOf(each)).size)
  const byKey = Map.groupBy(firsts, ([key]) => key)
  return {
    byKey: new Map([...byKey].map(([key, some]) => [key, some.map(([, n]) => Number(n))])),
    firsts: firsts.length,
    doubled: effects.length - firsts.length,
    wentBack: wentBack(effects),
    workers: new Set(effects.map(([, , worker]) => worker)).size,
  }
}

const wentBack = (effects: readonly Effect[]): number => {
  const newest = new Map<string, number>()
  return effects.filter(([key, text]) => {
    const n = Number(text)
    const before = newest.get(key) ?? -1
    newest.set(key, Math.max(n, before))
    return n < before
  }).length
}

/** What still waits in the store, by a plain client of its database. */
export const parcelsIn = async (store: string): Promise<number> => {
  if (!store.startsWith('sqlite:')) return parcelsInPostgres(new URL(store))
  const database = new DatabaseSync(store.slice('sqlite:'.length), { readOnly: true, timeout: 20_000 })
  try {
    return Number(database.prepare('SELECT count(*) AS n FROM reprieve_parcel').get()!.n)
  } finally {
    database.close()
  }
}

const parcelsInPostgres = async (at: URL): Promise<number> => {
  const schema = at.searchParams.get('schema') ?? 'reprieve'
  at.searchParams.delete('schema')
  const client = new pg.Client({ connectionString: at.href })
  await client.connect()
  try {
    const { rows } = await client.query(`SELECT count(*) AS n FROM ${schema}.parcel`)
    return Number(rows[0].n)
  } finally {
    await client.end()
  }
}
