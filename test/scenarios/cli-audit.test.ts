import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { reprieve } from '../../src/index.ts'
import { describeWith } from '../services/urls.ts'
import { ownSchema } from '../stores/postgres.ts'
import { cli, folderWith } from './child.ts'
import { someLetters } from './letters.ts'

it('audit list tells who discarded and forced what, and why, and narrows by act, name and time', async () => {
  const cwd = folderWith()
  const app = await reprieve({ transport: `sqlite:${join(cwd, 'reprieve.db')}` })
  const letters = someLetters(3)
  await app.store.letters.keep(letters)
  await app.close()
  expect((await cli(['audit', 'list'], { cwd })).stdout).toBe('nothing was done by hand that fits\n')

  const ids = letters.map(({ id }) => id)
  await cli(['dlq', 'discard', ids[0]!.slice(0, 8), ids[1]!, '--as', 'ann', '--reason', 'paid by hand'], {
    cwd,
  })
  expect(await cli(['dlq', 'replay', ids[2]!, '--as', 'bob'], { cwd })).toMatchObject({ code: 1 })
  await cli(['breaker', 'close', 'crm', '--reason', '\u202eit is\u0007 up'], { cwd })

  const { stdout } = await cli(['audit', 'list'], { cwd })
  const rows = stdout
    .split('\n')
    .map((row) => row.replace(/ {2,}/g, '|').replace(/\|[^|]*Z\|[^|]*\|/, '|'))
    .map((row) => row.replace(/operation [0-9a-f-]{36}/, 'operation <id>'))
  expect(rows.slice(1)).toEqual([
    `6|${userInfo().username}|breaker close|crm|1|\ufffdit is\ufffd up`,
    `5|bob|replay undone|letter ${ids[2]}|1`,
    `4|bob|replay|letter ${ids[2]}|1`,
    '3|bob|operation start|operation <id>|1',
    '2|bob|operation plan|operation <id>|1',
    '1|ann|discard|letters|2|paid by hand',
    '',
  ])
  const list = async (...args: string[]) => {
    const { entries } = JSON.parse((await cli(['audit', 'list', '--json', ...args], { cwd })).stdout)
    return entries.map(({ seq }: { seq: number }) => seq)
  }
  expect(await list('--act', 'discard')).toEqual([1])
  expect(await list('--who', 'bob', '--from', '1h')).toEqual([5, 4, 3, 2])
  expect(await list('--to', '2020-01-01')).toEqual([])
  expect(await list('--limit', '2', '--before', '4')).toEqual([3, 2])
  for (const wrong of [
    ['--from', 'yesterday'],
    ['--act', 'whatever'],
    ['--to', '2026-13-45'],
  ])
    expect(await cli(['audit', 'list', ...wrong], { cwd })).toMatchObject({ code: 2, stdout: '' })
  expect(await cli(['dlq', 'discard', ids[2]!, '--as', 'a\u200bnn'], { cwd })).toMatchObject({ code: 2 })
})

it.each(['list', 'verify'])(
  'audit %s makes no file where there is none: a mistyped path is not intact',
  async (command) => {
    const cwd = folderWith()
    for (const flags of [[], ['--store', 'sqlite:ap.db']]) {
      const { code, stderr } = await cli(['audit', command, ...flags], { cwd })
      expect(code).toBe(2)
      expect(stderr).toContain('there is no such file, and so no audit')
    }
    expect(readdirSync(cwd)).not.toContain('ap.db')
  },
)

it.each(['list', 'verify'])(
  'audit %s leaves a file that is somebody else’s as it is, and does not find it intact',
  async (command) => {
    const cwd = folderWith()
    const theirs = new DatabaseSync(join(cwd, 'theirs.db'))
    theirs.exec('CREATE TABLE orders (id TEXT)')
    theirs.close()
    writeFileSync(
      join(cwd, 'notes.txt'),
      'no database at all, though it is long enough to be looked at'.repeat(9),
    )
    const before = readFileSync(join(cwd, 'theirs.db'))
    const refused = await cli(['audit', command, '--store', 'sqlite:theirs.db'], { cwd })
    expect(refused).toMatchObject({ code: 2, stdout: '' })
    expect(refused.stderr).toContain("sqlite file 'theirs.db': it has no tables of ours, and so no audit")
    expect(readFileSync(join(cwd, 'theirs.db'))).toEqual(before)
    const text = await cli(['audit', command, '--store', 'sqlite:notes.txt'], { cwd })
    expect(text.stderr).toContain('it is no SQLite database')
    expect(text.code).not.toBe(0)
    expect(readdirSync(cwd)).not.toContain('reprieve.db')
  },
)

const TOUCHING = [
  ...['dlq list', 'pause mail-svc --force', 'resume mail-svc', 'breaker list', 'breaker open smtp'],
  ...['publish task.created {}', 'publish -'],
]

it.each(TOUCHING)(
  '%s makes no tables in a file that is somebody else’s, and takes an empty one',
  async (line) => {
    const cwd = folderWith()
    const theirs = new DatabaseSync(join(cwd, 'theirs.db'))
    theirs.exec('CREATE TABLE orders (id TEXT)')
    theirs.close()
    writeFileSync(join(cwd, 'empty.db'), '')
    const before = readFileSync(join(cwd, 'theirs.db'))
    const args = line.split(' ')
    for (const flags of [
      ['--store', 'sqlite:theirs.db'],
      ['--transport', 'sqlite:theirs.db', '--json'],
    ]) {
      const refused = await cli([...args, ...flags], { cwd })
      expect(refused.code).toBe(2)
      expect(refused.stderr).toContain('it has no tables of ours, only those of others')
      expect(refused.stderr).toContain('name the file that the app uses')
    }
    expect(readFileSync(join(cwd, 'theirs.db'))).toEqual(before)
    expect(readdirSync(cwd)).not.toContain('reprieve.db')
    const taken = await cli([...args, '--transport', 'sqlite:empty.db'], { cwd })
    // nobody is subscribed there, and that is what is told
    expect(taken.code).toBe(line.startsWith('publish task') ? 1 : 0)
    expect(taken.stderr).toMatch(
      line.startsWith('publish task')
        ? /nobody is subscribed/
        : line === 'publish -'
          ? /^$/
          : /it is made now/,
    )
  },
)

describeWith('postgres', 'the audit of a schema that is not there', (url) => {
  it.each(['list', 'verify'])('is refused by audit %s, which makes nothing', async (command) => {
    const cwd = folderWith()
    const missing = ownSchema(url)
    for (let again = 0; again < 2; again++) {
      const { code, stdout, stderr } = await cli(['audit', command, '--store', missing], { cwd })
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
      expect(stderr).toContain('has no tables of ours, and so no audit')
      expect(stderr).toContain('fix: name the store that the app uses')
    }
    const there = ownSchema(url)
    const app = await reprieve({ transport: `sqlite:${join(cwd, 'app.db')}`, store: there })
    await app.close()
    const { code, stdout } = await cli(['audit', command, '--store', there], { cwd })
    expect(code).toBe(0)
    expect(stdout).toContain(command === 'verify' ? 'intact, 0 entries' : 'nothing was done by hand')
  })
})
