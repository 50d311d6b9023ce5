import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, describe, expect, it } from 'vitest'
import { testTools } from '../../testing/tools.ts'
import { openFile } from './file.ts'
import { open } from './index.ts'

const folder = mkdtempSync(join(tmpdir(), 'reprieve-file-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const refusal = (code: string, ...words: string[]) =>
  expect.objectContaining({
    code,
    fix: expect.any(String),
    message: expect.stringMatching(new RegExp(words.join('[\\s\\S]*'))),
  })

describe('a file', () => {
  it('is kept so that a commit outlives a power cut', async () => {
    const file = await openFile(join(folder, 'settings.db'), testTools())
    expect(file.sql('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' })
    expect(file.sql('PRAGMA synchronous').get()).toEqual({ synchronous: 2 })
    expect(file.sql('PRAGMA busy_timeout').get()).toEqual({ timeout: 0 })
    file.drop()
  })

  it('is given up whole at the end: nothing is left beside it', async () => {
    const path = join(folder, 'closed.db')
    const { transport, store } = await open(`sqlite:${path}`, testTools())
    expect(existsSync(`${path}-wal`)).toBe(true)
    await transport.close()
    expect(existsSync(`${path}-wal`)).toBe(true)
    await store!.close()
    expect(existsSync(`${path}-wal`)).toBe(false)
  })

  it("may be the user's own: their tables and their user_version stay theirs", async () => {
    const path = join(folder, 'own.db')
    const own = new DatabaseSync(path)
    own.exec('CREATE TABLE task (id); INSERT INTO task VALUES (7); PRAGMA user_version = 42')
    own.close()
    for (let time = 0; time < 2; time++) (await openFile(path, testTools())).drop()
    const again = new DatabaseSync(path)
    expect(again.prepare('SELECT id FROM task').get()).toEqual({ id: 7 })
    expect(again.prepare('PRAGMA user_version').get()).toEqual({ user_version: 42 })
    const names = again.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
    const ours = names.map(({ name }) => name as string).filter((name) => name !== 'task')
    expect(ours.every((name) => /^(reprieve|sqlite)_/.test(name))).toBe(true)
    again.close()
  })

  it('that another program is just making is waited for', async () => {
    const path = join(folder, 'making.db')
    const other = new DatabaseSync(path)
    other.exec('BEGIN EXCLUSIVE; CREATE TABLE task (id)')
    const tools = testTools()
    const opening = openFile(path, tools)
    await tools.clock.advance(1000)
    other.exec('COMMIT')
    const file = await tools.clock.runUntil(opening)
    expect(file.sql('SELECT count(*) AS n FROM reprieve_parcel').get()).toEqual({ n: 0 })
    file.drop()
    other.close()
  })
})

describe('what can not be opened says what and how to mend it', () => {
  const opening = (path: string) => openFile(path, testTools())

  it('a folder', () =>
    expect(opening(folder)).rejects.toEqual(refusal('bad_url', 'is a folder', 'name a file')))

  it('a folder that is not there', () =>
    expect(opening(join(folder, 'no/such/app.db'))).rejects.toEqual(
      refusal('bad_url', 'there is no folder', 'mkdir -p'),
    ))

  it('something that is no file', () =>
    expect(opening('/dev/null')).rejects.toEqual(refusal('bad_url', 'no regular file')))

  it('a file that is no database', async () => {
    const path = join(folder, 'letter.txt')
    writeFileSync(path, 'Dear Sir or Madam, '.repeat(100))
    await expect(opening(path)).rejects.toEqual(refusal('bad_url', 'no SQLite database', 'another file'))
  })

  // skipped where no such file system is
  it.runIf(existsSync('/sys/kernel'))('a place where nothing can be written', () =>
    expect(opening('/sys/kernel/app.db')).rejects.toEqual(
      refusal('unavailable', 'can not be opened or made', 'may read and write'),
    ),
  )

  it('a file of a newer Reprieve, which it leaves as it is', async () => {
    const path = join(folder, 'newer.db')
    ;(await openFile(path, testTools())).drop()
    const newer = new DatabaseSync(path)
    newer.exec("UPDATE reprieve_meta SET value = 99 WHERE name = 'schema'")
    newer.close()
    await expect(opening(path)).rejects.toEqual(
      refusal('unavailable', 'newer Reprieve', 'schema 99', 'update'),
    )
  })

  it('a file that stays locked, after patience', async () => {
    const path = join(folder, 'locked.db')
    const other = new DatabaseSync(path)
    other.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; CREATE TABLE task (id)')
    const tools = testTools()
    const outcome = expect(openFile(path, tools)).rejects.toEqual(refusal('unavailable', 'write lock'))
    await tools.clock.advance(40_000)
    await outcome
    other.close()
  })
})
