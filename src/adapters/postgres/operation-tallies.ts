import { digestOf } from './letter-rows.ts'
import { textOf } from './letter-words.ts'
import type { Ask } from './pool.ts'

type Tally = (state: string, because: string, by: number) => void

/** Sums of what one commit changes: a row of the tally for each, not for each item. */
export const tallying = (ask: Ask, schema: string, operation: string) => {
  const sums = new Map<string, { state: string; because: string; by: number }>()
  const add: Tally = (state, because, by) => {
    const name = `${state}\n${because}`
    sums.set(name, { state, because, by: (sums.get(name)?.by ?? 0) + by })
  }
  const write = async (): Promise<void> => {
    const some = [...sums.values()].filter(({ by }) => by !== 0)
    if (some.length === 0) return
    await ask({
      name: `reprieve ${schema} tally items`,
      text: `
        INSERT INTO ${schema}.operation_tally AS t (operation, digest, state, because, count)
        SELECT $1, * FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[])
        ON CONFLICT (operation, digest) DO UPDATE SET count = t.count + excluded.count`,
      values: [
        operation,
        some.map(({ state, because }) => digestOf([state, because])),
        some.map(({ state }) => state),
        some.map(({ because }) => textOf(because)),
        some.map(({ by }) => by),
      ],
    })
  }
  return { add, write }
}
