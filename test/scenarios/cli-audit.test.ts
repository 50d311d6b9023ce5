import { readdirSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { reprieve } from '../../src/index.ts'
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
