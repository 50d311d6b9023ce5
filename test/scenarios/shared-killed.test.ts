import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { cli, folderWith, type Running, startCli } from './child.ts'

const BOOK = `version: 1
policies: { steady: { backoff: fixed, delay: 500ms, jitter: none, retries: 500, window: 10m } }
dependencies: { crm: { timeout: 5m, breaker: { failures: 2, open: 2s, probeLease: 5s } } }
defaults: { policy: steady, dependencies: [crm], timeout: 5m }
`

/** It calls a dependency that is up while the file `up` is there, and never answers while `hang` is. */
const HANDLERS = `import { existsSync } from 'node:fs'
const { NAME } = process.env
export default (app: any) => {
  app.service(NAME).on(NAME + '.made', (event: any, ctx: any) => ctx.call('crm', async () => {
    ctx.log('asked crm')
    if (existsSync('hang')) { ctx.log('hangs'); await new Promise(() => setInterval(() => {}, 1000)) }
    if (!existsSync('up')) throw Object.assign(new Error('crm is down'), { code: 'ECONNRESET' })
  }))
}
`

it('a process that is killed in the middle of its probe is followed by another, when its lease is over', async () => {
  const cwd = folderWith({ 'reprieve.yaml': BOOK, 'handlers.ts': HANDLERS })
  const start = (name: string): Running =>
    startCli(['run', 'handlers.ts', '--no-supervise'], { cwd, env: { NAME: name } })
  const one = start('one')
  await one.said('started    one')
  const two = start('two')
  await two.said('started    two')
  for (const name of ['one', 'two']) {
    await cli(['publish', `${name}.made`, '{}'], { cwd })
    await cli(['publish', `${name}.made`, '{}'], { cwd })
  }
  await one.said('breaker    crm  closed → open')
  await two.said('breaker    crm  closed → open')
  writeFileSync(join(cwd, 'hang'), '')
  await expect.poll(() => [one, two].filter((each) => each.soFar().includes('hangs')).length).toBe(1)
  const prober = one.soFar().includes('hangs') ? one : two
  const other = prober === one ? two : one
  prober.signal('SIGKILL')
  await prober.ended
  writeFileSync(join(cwd, 'up'), '')
  rmSync(join(cwd, 'hang'))
  await other.said('half-open → closed')
  const name = other === one ? 'one' : 'two'
  await expect.poll(() => other.soFar().split(`done       ${name}`).length - 1).toBe(2)
  const listed = JSON.parse((await cli(['breaker', 'list', '--json'], { cwd })).stdout.split('\n')[0]!)
  expect([listed].flat()[0]).toMatchObject({ name: 'crm', report: { quorum: expect.any(Number) } })
  other.signal('SIGTERM')
  expect((await other.ended).code).toBe(0)
})
