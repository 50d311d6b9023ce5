import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { changeIf, upsert } from '../sql.ts'
import { POSTGRES, SQLITE, writeChange, writeUpsert } from './sql.ts'

describe('an upsert', () => {
  it('quotes every name and numbers every value', () => {
    const { text, values } = writeUpsert('app.we"ird', { key: { id: 1 }, values: { 'a b': 2 } }, POSTGRES)
    expect(text).toBe(
      'INSERT INTO "app"."we""ird" AS old ("id", "a b") VALUES ($1, $2) ON CONFLICT ("id") DO UPDATE SET "a b" = excluded."a b"',
    )
    expect(values).toEqual([1, 2])
  })

  it('can be no SQL of those who choose a name', () => {
    const { text } = writeChange(
      't',
      { key: { 'x" = 1; DROP TABLE t; --': 1 }, from: { s: 1 }, set: { s: 2 } },
      SQLITE,
    )
    expect(text).toBe('UPDATE "t" SET "s" = ?1 WHERE ("x"" = 1; DROP TABLE t; --" IS ?2) AND ("s" IS ?3)')
  })

  it.each([
    ['no key', () => writeUpsert('t', { key: {} }, SQLITE)],
    ['a column twice', () => writeUpsert('t', { key: { a: 1 }, values: { a: 2 } }, SQLITE)],
    ['a version that is no value', () => writeUpsert('t', { key: { a: 1 }, newer: 'v' }, SQLITE)],
    ['no name', () => writeUpsert('', { key: { a: 1 } }, SQLITE)],
    ['a name with a NUL', () => writeUpsert('t', { key: { 'a\u0000': 1 } }, SQLITE)],
    ['nothing to change', () => writeChange('t', { key: { a: 1 }, from: { b: 1 }, set: {} }, SQLITE)],
    ['no state', () => writeChange('t', { key: { a: 1 }, from: {}, set: { b: 1 } }, SQLITE)],
    ['a state of none', () => writeChange('t', { key: { a: 1 }, from: { b: [] }, set: { b: 1 } }, SQLITE)],
  ])('refuses %s', (_, write) => {
    expect(write).toThrow(expect.objectContaining({ code: 'bad_usage' }))
  })
})

describe('on a real SQLite file', () => {
  const database = new DatabaseSync(':memory:')
  database.exec('CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, state TEXT, v INTEGER)')
  const row = () => ({ ...database.prepare('SELECT * FROM t WHERE id = 1').get() })

  it('an older version never overwrites a newer one', () => {
    const put = (name: string, v: number) =>
      upsert(database, 't', { key: { id: 1 }, values: { name, v }, newer: 'v' })
    expect([put('second', 2), put('first', 1), put('second', 2), put('third', 3)]).toEqual([
      true,
      false,
      false,
      true,
    ])
    expect(row()).toMatchObject({ name: 'third', v: 3 })
    expect(upsert(database, 't', { key: { id: 1 } })).toBe(false)
  })

  it('a change is made only in the state it starts from, null included', () => {
    const to = (from: unknown, state: string) =>
      changeIf(database, 't', { key: { id: 1 }, from: { state: from }, set: { state } })
    expect(to('new', 'paid')).toBe(false)
    expect(to(null, 'new')).toBe(true)
    expect(to(['new', 'held'], 'paid')).toBe(true)
    expect(to(['new', 'held'], 'paid')).toBe(false)
    expect(row().state).toBe('paid')
  })
})
