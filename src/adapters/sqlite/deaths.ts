import type { Deaths } from '../../contracts/groups.ts'
import { type Letter, retriesOf } from '../../core/letter.ts'
import type { File } from './file.ts'

const COUNT = `
INSERT INTO reprieve_letter_death (service, topic, event_type, letters, retries) VALUES (?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET letters = letters + excluded.letters, retries = retries + excluded.retries`

/** Within the commit that keeps them: letters that were not there before. */
export const countDeaths = (file: File, letters: readonly Letter[]): void => {
  const alike = Map.groupBy(letters, ({ service, topic, event }) =>
    JSON.stringify([service, topic, event.type]),
  )
  for (const some of alike.values()) {
    const { service, topic, event } = some[0]!
    const retries = some.reduce((sum, letter) => sum + retriesOf(letter), 0)
    file.sql(COUNT).run(service, topic, event.type, some.length, retries)
  }
}

export const deathsIn = (file: File): readonly Deaths[] =>
  file
    .sql('SELECT * FROM reprieve_letter_death')
    .all()
    .map((row) => ({
      service: row.service as string,
      topic: row.topic as string,
      type: row.event_type as string,
      letters: row.letters as number,
      retries: row.retries as number,
    }))
