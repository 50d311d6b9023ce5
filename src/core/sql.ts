import { ReprieveError } from './error.ts'

/** A statement and its values, in the order of their numbers. */
export interface Written {
  readonly text: string
  readonly values: readonly unknown[]
}

export type Columns = Readonly<Record<string, unknown>>

export interface Upsert {
  /** The natural key: a unique index over these columns must be there. */
  readonly key: Columns
  readonly values?: Columns
  /** A column among the values that grows with each version of the row: an older event never overwrites a newer one. */
  readonly newer?: string
}

export interface Change {
  readonly key: Columns
  /** What must hold for the change to be made; of a list any one. */
  readonly from: Columns
  readonly set: Columns
}

/** How the two kinds of database write a numbered value, and 'the same, nulls included'. */
export interface Dialect {
  readonly mark: '$' | '?'
  readonly same: 'IS NOT DISTINCT FROM' | 'IS'
}

export const POSTGRES: Dialect = { mark: '$', same: 'IS NOT DISTINCT FROM' }
export const SQLITE: Dialect = { mark: '?', same: 'IS' }

export const writeUpsert = (
  table: string,
  { key, values = {}, newer }: Upsert,
  dialect: Dialect,
): Written => {
  const keys = named(key, 'key')
  const others = Object.keys(values)
  const both = others.find((name) => name in key)
  if (both !== undefined) throw refuse(`the column '${both}' is both key and value`)
  if (newer !== undefined && !others.includes(newer)) throw refuse(`'${newer}' is none of the values`)
  const columns = [...keys, ...others].map(quoted)
  const marks = columns.map((_, i) => `${dialect.mark}${i + 1}`)
  const sets = others.map((name) => `${quoted(name)} = excluded.${quoted(name)}`)
  const update = others.length === 0 ? 'NOTHING' : `UPDATE SET ${sets.join(', ')}`
  const only = newer === undefined ? '' : ` WHERE excluded.${quoted(newer)} > old.${quoted(newer)}`
  const text = `INSERT INTO ${tableName(table)} AS old (${columns.join(', ')}) VALUES (${marks.join(', ')}) ON CONFLICT (${keys.map(quoted).join(', ')}) DO ${update}${only}`
  return { text, values: [...Object.values(key), ...Object.values(values)] }
}

export const writeChange = (table: string, { key, from, set }: Change, dialect: Dialect): Written => {
  const values: unknown[] = []
  const mark = (value: unknown) => `${dialect.mark}${values.push(value)}`
  const sets = named(set, 'set').map((name) => `${quoted(name)} = ${mark(set[name])}`)
  const holds =
    (columns: Columns) =>
    ([name, value]: [string, unknown]) => {
      const each = Array.isArray(columns[name]) ? (value as readonly unknown[]) : [value]
      if (each.length === 0) throw refuse(`'${name}' may be none of an empty list`)
      return `(${each.map((one) => `${quoted(name)} ${dialect.same} ${mark(one)}`).join(' OR ')})`
    }
  named(key, 'key')
  named(from, 'from')
  const where = [...Object.entries(key).map(holds(key)), ...Object.entries(from).map(holds(from))]
  return { text: `UPDATE ${tableName(table)} SET ${sets.join(', ')} WHERE ${where.join(' AND ')}`, values }
}

const named = (columns: Columns, what: string): readonly string[] => {
  const names = Object.keys(columns)
  if (names.length === 0) throw refuse(`'${what}' names no column`)
  return names
}

/** `table` or `schema.table`. */
const tableName = (name: string): string => name.split('.').map(quoted).join('.')

/** Names come from code, but whoever makes them of data must not be able to write SQL with them. */
const quoted = (name: string): string => {
  if (name === '' || name.includes('\u0000')) throw refuse('a table or column has no name')
  return `"${name.replaceAll('"', '""')}"`
}

const refuse = (why: string): ReprieveError => new ReprieveError('bad_usage', `upsert or changeIf: ${why}`)
