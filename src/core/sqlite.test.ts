import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { classify } from './classify.ts'
import type { Failure } from './failure.ts'

const folder = mkdtempSync(join(tmpdir(), 'reprieve-sqlite-codes-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let files = 0
const newFile = () => join(folder, `${files++}.db`)

const open = (file = ':memory:', options = {}): DatabaseSync => {
  const db = new DatabaseSync(file, options)
  onTestFinished(() => db.close())
  return db
}

const failureOf = (fn: () => unknown): Failure => {
  try {
    fn()
  } catch (error) {
    return classify(error)
  }
  throw new Error('nothing was thrown')
}

const table = (db: DatabaseSync): DatabaseSync => {
  db.exec("CREATE TABLE t (id INTEGER PRIMARY KEY, word TEXT NOT NULL UNIQUE CHECK (word <> 'z')) STRICT")
  db.exec("INSERT INTO t VALUES (1, 'x')")
  return db
}

describe('node:sqlite', () => {
  it('a lock that another connection holds', () => {
    const file = newFile()
    const first = table(open(file))
    const second = open(file, { timeout: 0 })
    first.exec('BEGIN IMMEDIATE')
    expect(failureOf(() => second.exec("INSERT INTO t VALUES (2, 'y')"))).toMatchObject({
      category: 'transient',
      kind: 'integration',
      code: 'SQLITE_BUSY',
      because: 'SQLITE_BUSY is transient',
    })
  })

  it('a snapshot that is too old to write', () => {
    const file = newFile()
    const first = table(open(file))
    first.exec('PRAGMA journal_mode = WAL')
    const second = open(file, { timeout: 0 })
    second.exec('BEGIN')
    second.prepare('SELECT * FROM t').all()
    first.exec("INSERT INTO t VALUES (2, 'y')")
    expect(failureOf(() => second.exec("INSERT INTO t VALUES (3, 'w')"))).toMatchObject({
      category: 'transient',
      code: 'SQLITE_BUSY',
    })
  })

  it('a table that this connection itself still reads', () => {
    const db = table(open())
    const rows = db.prepare('SELECT * FROM t').iterate()
    rows.next()
    expect(failureOf(() => db.exec('DROP TABLE t'))).toMatchObject({
      category: 'transient',
      code: 'SQLITE_LOCKED',
    })
    rows.return?.()
  })

  it('no room', () => {
    const db = table(open(newFile()))
    db.exec('PRAGMA max_page_count = 3')
    const fill = () => db.prepare('INSERT INTO t VALUES (2, ?)').run('y'.repeat(100_000))
    expect(failureOf(fill)).toMatchObject({ category: 'transient', code: 'SQLITE_FULL' })
  })

  it('a file that can not be opened', () => {
    expect(failureOf(() => open(join(folder, 'none', 'x.db')))).toMatchObject({
      category: 'transient',
      code: 'SQLITE_CANTOPEN',
    })
  })

  it.each([
    ['a key that is there', "INSERT INTO t VALUES (1, 'y')", 'SQLITE_CONSTRAINT'],
    ['a value that is there', "INSERT INTO t VALUES (2, 'x')", 'SQLITE_CONSTRAINT'],
    ['nothing where something must be', 'INSERT INTO t VALUES (2, NULL)', 'SQLITE_CONSTRAINT'],
    ['a check', "INSERT INTO t VALUES (2, 'z')", 'SQLITE_CONSTRAINT'],
    ['a type', "INSERT INTO t VALUES ('a', 'y')", 'SQLITE_MISMATCH'],
    ['bad SQL', 'SELEC 1', 'SQLITE_ERROR'],
    ['no such table', 'SELECT * FROM nowhere', 'SQLITE_ERROR'],
    ['bad JSON', "SELECT json('{bad')", 'SQLITE_ERROR'],
    ['too much', 'SELECT zeroblob(2000000000)', 'SQLITE_TOOBIG'],
  ])('%s is permanent', (_, sql, code) => {
    const db = table(open())
    expect(failureOf(() => db.prepare(sql).all())).toMatchObject({
      category: 'permanent',
      kind: 'integration',
      code,
    })
  })

  it('a parameter too many', () => {
    const db = open()
    expect(failureOf(() => db.prepare('SELECT ?').all(1, 2))).toMatchObject({
      category: 'permanent',
      code: 'SQLITE_RANGE',
    })
  })

  it('a value that no column takes is an illegal argument', () => {
    const bind = () =>
      open()
        .prepare('SELECT ?')
        .all(Symbol('x') as unknown as string)
    expect(failureOf(bind)).toMatchObject({ category: 'permanent', kind: 'handler' })
  })

  it('a file that is no database, and one that is damaged', () => {
    const file = newFile()
    writeFileSync(file, 'this is no database, whatever its name says'.repeat(100))
    expect(failureOf(() => open(file).exec('SELECT * FROM t'))).toMatchObject({
      category: 'permanent',
      code: 'SQLITE_NOTADB',
    })
    const damaged = newFile()
    const db = new DatabaseSync(damaged)
    table(db).close()
    const bytes = readFileSync(damaged)
    writeFileSync(damaged, bytes.fill(0xff, 4096))
    const image = () => open(damaged).prepare('SELECT * FROM t').all()
    expect(failureOf(image)).toMatchObject({ category: 'permanent', code: 'SQLITE_CORRUPT' })
  })

  it('a database that is only to be read: unknown', () => {
    const file = newFile()
    table(open(file))
    const db = open(file, { readOnly: true })
    expect(failureOf(() => db.exec('DELETE FROM t'))).toMatchObject({
      category: 'unknown',
      code: 'SQLITE_READONLY',
    })
  })

  it('an authorizer that says no', () => {
    const db = table(open())
    db.setAuthorizer(() => 1)
    expect(failureOf(() => db.exec('DELETE FROM t'))).toMatchObject({
      category: 'permanent',
      kind: 'auth',
      code: 'SQLITE_AUTH',
    })
  })
})

describe('other drivers of SQLite', () => {
  it.each([
    ['SQLITE_BUSY', 'transient'],
    ['SQLITE_BUSY_SNAPSHOT', 'transient'],
    ['SQLITE_IOERR_FSYNC', 'transient'],
    ['SQLITE_CONSTRAINT_UNIQUE', 'permanent'],
    ['SQLITE_CORRUPT_VTAB', 'permanent'],
    ['SQLITE_READONLY', 'unknown'],
    ['SQLITE_BRAND_NEW', 'unknown'],
  ] as const)('%s is %s', (code, category) => {
    expect(classify(Object.assign(new Error('no'), { code }))).toMatchObject({ category, code })
  })

  it('by number, extended ones too', () => {
    const failure = (errcode: number) =>
      classify(Object.assign(new Error('no'), { code: 'ERR_SQLITE_ERROR', errcode }))
    expect(failure(10)).toMatchObject({ category: 'transient', code: 'SQLITE_IOERR' })
    expect(failure(10 | (4 << 8))).toMatchObject({ category: 'transient', code: 'SQLITE_IOERR' })
    expect(failure(9)).toMatchObject({ category: 'transient', kind: 'timeout', code: 'SQLITE_INTERRUPT' })
    expect(failure(99)).toMatchObject({ category: 'unknown', code: 'SQLITE_99' })
    expect(failure(17)).toMatchObject({ category: 'transient', code: 'SQLITE_SCHEMA' })
    expect(failure(2)).toMatchObject({ category: 'unknown', code: 'SQLITE_INTERNAL' })
  })
})
