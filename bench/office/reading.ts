import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { readOutline, readSendable, type Sendable } from '../../src/core/outline.ts'
import type { Server } from './postgres.ts'

/** The oldest that are open, so many after the last one, by a plain driver. */
export interface Reading {
  next(count: number): Promise<readonly Sendable[]>
  close(): Promise<void>
}

type Row = readonly [
  id: string,
  service: string,
  topic: string,
  buriedAt: number,
  outline: string,
  headers: string | null,
  data: Uint8Array | null,
]

const COLUMNS = 'id, service, topic, buried_at, outline, headers, data'
const AFTER = "state = 'open' AND (buried_at, id) >"
const IN_ORDER = 'ORDER BY buried_at, id LIMIT'

/** Keeps the place that was reached. */
const readingBy = (rowsAfter: (at: number, id: string, count: number) => Promise<readonly Row[]>) => {
  let place: readonly [at: number, id: string] = [-1, '']
  return async (count: number): Promise<readonly Sendable[]> => {
    const rows = await rowsAfter(...place, count)
    const last = rows.at(-1)
    if (last) place = [Number(last[3]), last[0]]
    return rows.map(([id, service, topic, buriedAt, outline, headers, data]) =>
      readSendable(readOutline({ id, service, topic, buriedAt: Number(buriedAt) }, outline), headers, data),
    )
  }
}

export const readFile = (path: string): Reading => {
  const database = new DatabaseSync(path, { readOnly: true })
  const look = database.prepare(
    `SELECT ${COLUMNS} FROM reprieve_letter JOIN reprieve_content ON letter = number WHERE ${AFTER} (?, ?) ${IN_ORDER} ?`,
  )
  look.setReturnArrays(true)
  return {
    next: readingBy(async (at, id, count) => look.all(at, id, count) as unknown as readonly Row[]),
    close: async () => database.close(),
  }
}

export const readSchema = async ({ url }: Server, schema: string): Promise<Reading> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const text = `SELECT ${COLUMNS} FROM ${schema}.letter WHERE state = 'open' AND (buried_at + 0, id) > ($1, $2)
    ORDER BY buried_at + 0, id LIMIT $3`
  return {
    next: readingBy(async (at, id, count) => {
      const { rows } = await client.query({ name: 'next', text, values: [at, id, count], rowMode: 'array' })
      return rows as unknown as readonly Row[]
    }),
    close: () => client.end(),
  }
}
