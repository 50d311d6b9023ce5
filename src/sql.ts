import {
  type Change,
  POSTGRES,
  SQLITE,
  type Upsert,
  type Written,
  writeChange,
  writeUpsert,
} from './core/sql.ts'

/** A client or pool of pg, or anything that asks as it does. */
export interface Asking {
  query(text: string, values: unknown[]): Promise<{ readonly rowCount: number | null }>
}

/** node:sqlite's DatabaseSync, or what `ctx.tx` hands over on SQLite. */
export interface Preparing {
  prepare(text: string): { run(...values: never[]): { readonly changes: number | bigint } }
}

interface Statement<What> {
  (client: Asking, table: string, what: What): Promise<boolean>
  (client: Preparing, table: string, what: What): boolean
}

/** Inserts the row, or updates the one with the same natural key. Answers whether it wrote: false, where a newer one is there. */
export const upsert: Statement<Upsert> = statement((table, what, dialect) =>
  writeUpsert(table, what, dialect),
)

/** Changes the row with this key only where it is in the state named. Answers whether it did. */
export const changeIf: Statement<Change> = statement((table, what, dialect) =>
  writeChange(table, what, dialect),
)

function statement<What>(
  write: (table: string, what: What, dialect: typeof POSTGRES) => Written,
): Statement<What> {
  const run = (client: Asking | Preparing, table: string, what: What): Promise<boolean> | boolean => {
    if ('query' in client) {
      const { text, values } = write(table, what, POSTGRES)
      return client.query(text, [...values]).then(({ rowCount }) => rowCount !== null && rowCount > 0)
    }
    const { text, values } = write(table, what, SQLITE)
    return Number(client.prepare(text).run(...(values as never[])).changes) > 0
  }
  return run as Statement<What>
}
