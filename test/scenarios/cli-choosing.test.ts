import { join } from 'node:path'
import { expect, it } from 'vitest'
import { reprieve } from '../../src/index.ts'
import { cli, folderWith } from './child.ts'
import { someLetters } from './letters.ts'

it('what fits nothing, or names nothing, is a mistake; what is purged is told by its states first', async () => {
  const cwd = folderWith({})
  const app = await reprieve({ transport: `sqlite:${join(cwd, 'reprieve.db')}` })
  const [one, two] = someLetters(2)
  await app.store.letters.keep([one!, two!])
  await app.office.resolve([one!.id], { reason: 'by hand' })
  const dlq = (...args: string[]) => cli(['dlq', ...args], { cwd })
  const typo = await dlq('replay', '--service', 'mial-svc', '--json')
  expect([typo.code, JSON.parse(typo.stdout)]).toMatchObject([1, { because: 'no letter fits', sent: [] }])
  expect(await dlq('purge', '--code', '', '--reason', 'test data')).toMatchObject({
    ...{ code: 2, stderr: expect.stringContaining("'code' is empty") },
  })
  expect(await app.office.operations.list({ live: true })).toEqual([])
  const asked = await dlq('purge', '--state', 'resolved', '--state', 'open', '--reason', 'old', '--dry-run')
  expect(asked).toMatchObject({ code: 0, stdout: expect.stringMatching(/in states +1 open, 1 resolved\n/) })
  expect(asked.stdout).toMatch(/^2 purge$/m)
  await app.close()
})
