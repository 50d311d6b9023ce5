import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../system/clock.ts'
import { systemDice } from '../system/dice.ts'
import { doctor, open } from './index.ts'

const tools = { clock: systemClock, dice: systemDice(), journal: () => {} }
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reprieve-doctor-'))
})
afterEach(() => {
  chmodSync(folder, 0o700)
  rmSync(folder, { recursive: true, force: true })
})

/** To root everything is allowed: then it is a warning to whoever else will run the services. */
const REFUSED = process.getuid?.() === 0 ? 'risky' : 'wrong'

const examine = (path: string) => doctor.examine(`sqlite:${path}`, { subscriptions: [] }, tools)
const told = async (path: string) =>
  (await examine(path)).filter(({ level }) => level !== 'fine').map(({ check, level }) => `${level} ${check}`)

const made = async (): Promise<string> => {
  const path = join(folder, 'app.db')
  const { transport, store } = await open(`sqlite:${path}`, tools)
  await transport.close()
  await store.close()
  return path
}

const change = (path: string, sql: string): void => {
  const database = new DatabaseSync(path)
  database.exec(sql)
  database.close()
}

describe('the doctor of a SQLite file', () => {
  it('finds nothing wrong with a file of ours, and looks at all it knows', async () => {
    const path = await made()
    expect(await told(path)).toEqual([])
    expect(new Set((await examine(path)).map(({ check }) => check))).toEqual(
      new Set(['sqlite-version', 'sqlite-writable', 'sqlite-schema', 'sqlite-journal', 'sqlite-disk']),
    )
  })

  it('makes no file where there is none, and nothing beside one that is there', async () => {
    expect(await told(join(folder, 'new.db'))).toEqual([])
    expect(readdirSync(folder)).toEqual([])
    const path = await made()
    const before = readdirSync(folder)
    await examine(path)
    expect(readdirSync(folder)).toEqual(before)
  })

  it('takes another program’s database as it is: our tables are still to come', async () => {
    const path = join(folder, 'theirs.db')
    change(path, 'CREATE TABLE theirs (id INTEGER)')
    expect(await told(path)).toEqual([])
    expect(existsSync(`${path}-wal`)).toBe(false)
  })

  it('tells a file that may not be written to, with the right that is missing', async () => {
    const path = await made()
    chmodSync(path, 0o444)
    const [finding] = (await examine(path)).filter(({ level }) => level !== 'fine')
    expect(finding).toMatchObject({
      check: 'sqlite-writable',
      level: REFUSED,
      where: path,
      fix: expect.stringMatching(/chmod u\+w/),
    })
  })

  it('tells a folder that may not be written to: SQLite keeps two files beside its own', async () => {
    const path = await made()
    chmodSync(folder, 0o555)
    const [finding] = (await examine(path)).filter(({ level }) => level !== 'fine')
    expect(finding).toMatchObject({ check: 'sqlite-writable', level: REFUSED, where: folder })
  })

  it('tells a schema of a newer Reprieve', async () => {
    const path = await made()
    change(path, "UPDATE reprieve_meta SET value = 99 WHERE name = 'schema'")
    const [finding] = (await examine(path)).filter(({ level }) => level === 'wrong')
    expect(finding).toMatchObject({ check: 'sqlite-schema', what: expect.stringContaining('schema 99') })
    expect(finding?.fix).toMatch(/update Reprieve/)
  })

  it('tells a journal that is no write-ahead log any more', async () => {
    const path = await made()
    change(path, 'PRAGMA journal_mode = DELETE')
    expect(await told(path)).toEqual(['risky sqlite-wal'])
  })

  it('tells what is no database, a folder, and a folder that is missing', async () => {
    const text = join(folder, 'text.db')
    writeFileSync(text, 'these are only words, and not few of them: no database begins so'.repeat(20))
    expect(await told(text)).toEqual(['wrong sqlite-file'])
    mkdirSync(join(folder, 'sub'))
    expect(await told(join(folder, 'sub'))).toEqual(['wrong sqlite-file'])
    expect(await told(join(folder, 'gone', 'app.db'))).toEqual(['wrong sqlite-file'])
  })
})
