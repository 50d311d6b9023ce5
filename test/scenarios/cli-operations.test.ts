import { join } from 'node:path'
import { expect, it } from 'vitest'
import { fillStore } from '../docs/operator-store.ts'
import { cli, folderWith, startCli } from './child.ts'

const BOOK = `version: 1
operations: { approval: { above: 100 } }
`

it('dlq operation: approved by its hash, paused, resumed and cancelled, each told in JSON and in the audit', async () => {
  const cwd = folderWith({ 'reprieve.yaml': BOOK })
  await fillStore(`sqlite:${join(cwd, 'reprieve.db')}`)
  const run = (line: string) => cli(line.split(' '), { cwd })
  const json = async (line: string) => {
    const { stdout, stderr, code } = await run(`${line} --json`)
    expect(code, `${line}\n${stderr}`).toBe(0)
    return JSON.parse(stdout)
  }

  const planned = await json('dlq replay --service payment-svc --dry-run --as ann')
  const { id, hash } = planned.operation
  expect(planned).toMatchObject({ operation: { state: 'needs approval' }, counts: { waiting: 200 } })

  const wrong = await run(`dlq operation approve ${id} --hash ffffffff --as bob`)
  expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining(`look at it again: it is ${hash}`) })

  // held up before it is approved, so that nothing is sent by it
  expect((await run(`dlq operation pause ${id} --as bob --reason wait`)).stdout).toBe(`${id} is paused\n`)
  const approved = await json(`dlq approve ${id} --hash ${hash.slice(0, 8)} --as bob`)
  expect(approved.operation).toMatchObject({
    ...{ state: 'approved', approval: { by: 'bob', hash } },
    paused: { by: 'bob', because: 'wait' },
  })
  const resumed = await json(`dlq operation resume ${id} --as ann`)
  expect(resumed.operation.paused).toBeUndefined()
  expect((await run(`dlq operation cancel ${id} --as ann --reason enough`)).stdout).toBe(
    `${id} is cancelled\n`,
  )
  const again = await run(`dlq operation resume ${id} --as ann`)
  expect(again.code).toBe(2)
  expect(again.stderr).toContain("can't be resumed: it is cancelled (by ann: enough)")

  const { operations } = await json('dlq operations')
  expect(operations).toMatchObject([
    { operation: { id, state: 'cancelled', by: 'ann' }, counts: { waiting: 200 } },
  ])
  const { entries } = await json('audit list')
  expect(entries.map(({ act, who }: { act: string; who: string }) => `${act} ${who}`)).toEqual([
    'operation cancel ann',
    'operation resume ann',
    'operation approve bob',
    'operation pause bob',
    'operation plan ann',
  ])
})

it('what a dry run has is told by who has it, and not only that nothing was sent', async () => {
  const cwd = folderWith()
  await fillStore(`sqlite:${join(cwd, 'reprieve.db')}`)
  const run = (line: string) => cli(line.split(' '), { cwd })
  const planned = JSON.parse((await run('dlq replay --service payment-svc --dry-run --json')).stdout)
  const { id } = planned.operation
  const told = new RegExp(
    `^200 in another operation that is not over: ${id} \\(replay, frozen\\); .* resume .* cancel`,
  )
  const again = await run('dlq replay --service payment-svc')
  expect(again).toMatchObject({ code: 1, stdout: expect.stringMatching(/^0 sent\n/) })
  expect(again.stderr).toMatch(told)
  expect((await run('dlq purge --service payment-svc --reason old')).stderr).toMatch(told)
  await run(`dlq operation cancel ${id}`)
  const free = await run('dlq replay --service payment-svc --dry-run')
  expect(free.stderr).not.toContain('in another operation')
})

it('who leaves a purge in its midst is told that it is not over, and how to hold it up', async () => {
  const cwd = folderWith()
  await fillStore(`sqlite:${join(cwd, 'reprieve.db')}`)
  const args = 'dlq purge --service payment-svc --reason old --batch 1 --rate 1 --watch'
  const purge = startCli(args.split(' '), { cwd })
  await purge.remarked('1 of 200')
  purge.signal('SIGINT')
  const { code, stderr } = await purge.ended
  expect(code).toBe(130)
  const [, id] =
    /the operation is not over, .* reprieve dlq operation pause (\S+) holds it up/.exec(stderr) ?? []
  const paused = await cli(['dlq', 'operation', 'pause', id!], { cwd })
  expect(paused).toMatchObject({ code: 0, stdout: `${id} is paused\n` })
})
