import { join } from 'node:path'
import { expect, it } from 'vitest'
import { Permanent, reprieve } from '../../src/index.ts'
import { readRules } from '../../src/rules/index.ts'
import { cli, folderWith } from './child.ts'

const BOOK = 'version: 1\nservices: { stock-svc: { order: key, afterDeath: hold } }\n'

it('dlq show tells how many wait behind a letter, dlq discard frees them, and list finds it by its state', async () => {
  const cwd = folderWith({ 'reprieve.yaml': BOOK })
  const transport = `sqlite:${join(cwd, 'reprieve.db')}`
  const app = await reprieve({ rules: readRules(BOOK, 'reprieve.yaml'), transport })
  const done: number[] = []
  let buried: (() => void) | undefined
  const died = new Promise<void>((resolve) => {
    buried = resolve
  })
  const freed = new Promise<void>((resolve) => {
    app.service('stock-svc').on('stock.moved', ({ data }: { data: number }) => {
      if (data === 1) {
        buried?.()
        throw new Permanent('no such shelf')
      }
      if (done.push(data) === 2) resolve()
    })
  })
  await app.start()
  for (const n of [1, 2, 3]) await app.publish('stock.moved', n, { orderKey: 'a' })
  await died

  const listed = JSON.parse((await cli(['dlq', 'list', '--json'], { cwd })).stdout)
  const id: string = listed.letters[0].dlqId
  const shown = await cli(['dlq', 'show', id.slice(0, 8)], { cwd })
  expect(shown.stdout).toMatch(/held behind it +2 with its order key/)
  expect(JSON.parse((await cli(['dlq', 'show', id, '--json'], { cwd })).stdout)).toMatchObject({ behind: 2 })
  expect(done).toEqual([])

  expect(await cli(['dlq', 'discard', id.slice(0, 8), '--reason', 'counted by hand'], { cwd })).toEqual({
    code: 0,
    stdout: '1 discarded, 2 that waited behind them go on\n',
    stderr: '',
  })
  await freed
  expect(done).toEqual([2, 3])
  expect((await cli(['dlq', 'list', '--state', 'discarded'], { cwd })).stdout).toContain('no such shelf')
  expect((await cli(['dlq', 'list'], { cwd })).stdout).toBe('no dead letters\n')
  expect(await cli(['dlq', 'discard', 'ffffffff'], { cwd })).toMatchObject({
    code: 1,
    stdout: '0 discarded\n',
    stderr: expect.stringContaining('no letter has this id'),
  })
  expect(await cli(['dlq', 'discard'], { cwd })).toMatchObject({ code: 2 })
  await app.close()
})
