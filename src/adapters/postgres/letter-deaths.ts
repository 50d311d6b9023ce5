import type { Deaths } from '../../contracts/groups.ts'
import { type Letter, retriesOf } from '../../core/letter.ts'
import { digestOf, type Row } from './letter-rows.ts'
import { boundedOf, readText } from './letter-words.ts'
import type { Ask } from './pool.ts'

/** Within the transaction that keeps them: letters that were not there before. In the order of their digests. */
export const countDeaths = async (ask: Ask, schema: string, letters: readonly Letter[]): Promise<void> => {
  const alike = Map.groupBy(letters, ({ service, topic, event }) =>
    digestOf([service, topic, event.type].map((word) => boundedOf(String(word)))),
  )
  const rows = [...alike].map(([digest, some]) => {
    const { service, topic, event } = some[0]!
    const words = [service, topic, event.type].map((word) => boundedOf(String(word)))
    return [digest, ...words, some.length, some.reduce((sum, letter) => sum + retriesOf(letter), 0)]
  })
  await ask({
    name: `reprieve ${schema} deaths`,
    text: `
      INSERT INTO ${schema}.letter_death AS d (digest, service, topic, event_type, letters, retries)
      SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[])
        AS n (digest, service, topic, event_type, letters, retries)
      ORDER BY n.digest COLLATE "C"
      ON CONFLICT (digest) DO UPDATE SET letters = d.letters + excluded.letters, retries = d.retries + excluded.retries`,
    values: [0, 1, 2, 3, 4, 5].map((i) => rows.map((row) => row[i])),
  })
}

export const deathOf = (row: Row): Deaths => ({
  service: readText(row.service as string),
  topic: readText(row.topic as string),
  type: readText(row.event_type as string),
  letters: Number(row.letters),
  retries: Number(row.retries),
})
