import { join } from 'node:path'
import { expect, it } from 'vitest'
import { fillStore } from '../docs/operator-store.ts'
import { cli, folderWith } from './child.ts'

it('dlq groups, list, tend and release answer in JSON, and a mistake is never everything', async () => {
  const cwd = folderWith()
  await fillStore(`sqlite:${join(cwd, 'reprieve.db')}`)
  const json = async (...args: string[]) => JSON.parse((await cli([...args, '--json'], { cwd })).stdout)

  const { count, groups } = await json('dlq', 'groups', '--limit', '2')
  expect(count).toBe(3)
  expect(groups).toMatchObject([{ services: ['payment-svc'], open: 200 }, { services: ['mail-svc'] }])
  const group: string = groups[0].fingerprint

  const page = ['dlq', 'list', '--group', group.slice(0, 7), '--payload', 'NO p-1', '--limit', '10']
  const first = await json(...page)
  expect(first).toMatchObject({ whole: true, next: expect.any(String) })
  expect(first.letters[0]).toMatchObject({ state: 'open', generation: 0, orderKey: null, earlier: null })
  const second = await json(...page, '--after', first.next)
  expect(second.letters[0].dlqId).not.toBe(first.letters.at(-1).dlqId)

  expect(await json('dlq', 'tend', group, '--owner', 'ann', '--snooze', '2h')).toMatchObject({
    ...{ owner: 'ann', snoozed: true, isNew: false },
  })
  expect(await json('dlq', 'tend', group, '--owner', '', '--no-snooze')).toMatchObject({ snoozed: false })
  expect(await json('dlq', 'show', group)).not.toHaveProperty('owner')

  const poison = (await json('dlq', 'list', '--state', 'quarantined', '--limit', '1')).letters[0].dlqId
  expect(await json('dlq', 'release', poison.slice(0, 12), '--reason', 'mended')).toEqual({
    ...{ released: [poison], skipped: [] },
  })
  expect(await cli(['dlq', 'release', poison, '--reason', 'again'], { cwd })).toMatchObject({
    ...{ code: 1, stdout: '0 released\n', stderr: expect.stringContaining('it is open') },
  })
  expect(await cli(['dlq', 'replay', '--group', 'f1-zzzz'], { cwd })).toMatchObject({ code: 1, stdout: '' })
  expect(await cli(['dlq', 'replay', '--where', '$.a'], { cwd })).toMatchObject({ code: 2, stdout: '' })
})
