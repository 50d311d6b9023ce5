import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'amqplib'
import { describe, expect, it, onTestFinished } from 'vitest'
import { reprieve } from '../../src/index.ts'
import { describeWith } from '../services/urls.ts'
import { cli, folderWith, project, type Running, startCli } from './child.ts'

const DYING = `import { appendFileSync, existsSync, writeFileSync } from 'node:fs'
writeFileSync('pid', String(process.pid))
export default (app: any) => {
  app.service('mail-svc').on('task.created', async ({ id, data }: any, ctx: any) => {
    ctx.log('began ' + id)
    if (data.exit !== undefined) process.exit(data.exit)
    while (data.until && !existsSync(data.until)) await new Promise((resolve) => setTimeout(resolve, 50))
    appendFileSync('effects', id + '\\n')
  })
}
`
const RULES = 'version: 1\nservices: { mail-svc: { lease: 1s, window: 10, concurrency: 2 } }\n'
const dying = () => folderWith({ 'handlers.ts': DYING, 'reprieve.yaml': RULES })
const pidIn = (cwd: string) => Number(readFileSync(join(cwd, 'pid'), 'utf8'))
const effectsIn = (cwd: string) => {
  const file = join(cwd, 'effects')
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []
}
const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
const publish = (cwd: string, data: object, id: string) =>
  cli(['publish', 'task.created', JSON.stringify(data), '--id', id], { cwd })
const stop = async (run: Running) => {
  run.signal('SIGTERM')
  return run.ended
}

it('the library hears no signals, and starts neither processes nor threads', async () => {
  const cwd = project()
  const listeners = () =>
    ['SIGINT', 'SIGTERM', 'exit', 'uncaughtException'].map((name) => process.listenerCount(name))
  const resources = () =>
    process
      .getActiveResourcesInfo()
      .filter((name) => /Process|Worker|MessagePort/.test(name))
      .sort()
  const before = [listeners(), resources()]
  await using app = await reprieve({ transport: `sqlite:${join(cwd, 'app.db')}` })
  app.service('mail-svc').on('task.created', () => {})
  await app.start()
  await app.publish('task.created', {})
  expect([listeners(), resources()]).toEqual(before)
})

describe('the supervisor of reprieve run', () => {
  it('starts another process when the one that does the work is killed, and passes the signal on', async () => {
    const cwd = dying()
    const run = startCli(['run', 'handlers.ts'], { cwd })
    await run.said('started')
    const first = pidIn(cwd)
    process.kill(first, 'SIGKILL')
    await run.said('died of SIGKILL: another one in')
    await expect.poll(() => pidIn(cwd)).not.toBe(first)
    await publish(cwd, {}, 'after')
    await run.said('done       mail-svc  task.created  after')
    const { code, stdout } = await stop(run)
    expect(code).toBe(0)
    expect(stdout).toMatch(/drained/)
    expect(isAlive(pidIn(cwd))).toBe(false)
  })

  it('leaves with the code of a process that could not begin', async () => {
    const cwd = folderWith({ 'handlers.ts': 'process.exit(7)' })
    expect((await cli(['run', 'handlers.ts'], { cwd })).code).toBe(7)
    expect((await cli(['run', 'missing.ts'], { cwd })).code).toBe(2)
  })

  it('leaves nobody behind when it is killed itself: the child drains', async () => {
    const cwd = dying()
    const run = startCli(['run', 'handlers.ts'], { cwd })
    await run.said('started')
    await publish(cwd, { until: 'go' }, 'long')
    await run.said('began long')
    run.signal('SIGKILL')
    writeFileSync(join(cwd, 'go'), '')
    await expect.poll(() => isAlive(pidIn(cwd))).toBe(false)
    expect(effectsIn(cwd)).toEqual(['long'])
  })

  it('a signal to the whole group is one signal: handlers finish', async () => {
    const cwd = dying()
    const run = startCli(['run', 'handlers.ts'], { cwd })
    await run.said('started')
    await publish(cwd, { until: 'go' }, 'long')
    await run.said('began long')
    process.kill(pidIn(cwd), 'SIGTERM')
    run.signal('SIGTERM')
    await run.remarked('draining')
    expect(isAlive(pidIn(cwd))).toBe(true)
    writeFileSync(join(cwd, 'go'), '')
    const { code, stdout } = await run.ended
    expect({ code, effects: effectsIn(cwd) }).toEqual({ code: 0, effects: ['long'] })
    expect(stdout).toMatch(/drained/)
  })

  it('a second signal leaves at once, and nothing is lost', async () => {
    const cwd = dying()
    const run = startCli(['run', 'handlers.ts'], { cwd })
    await run.said('started')
    for (const id of ['a', 'b', 'c']) await publish(cwd, { until: 'go' }, id)
    await run.said('began a')
    run.signal('SIGTERM')
    await run.remarked('draining')
    const asked = Date.now()
    run.signal('SIGTERM')
    expect((await run.ended).code).toBe(130)
    // far less than draining may take
    expect(Date.now() - asked).toBeLessThan(15_000)
    expect(effectsIn(cwd)).toEqual([])
    writeFileSync(join(cwd, 'go'), '')
    const next = startCli(['run', 'handlers.ts'], { cwd })
    await expect.poll(() => [...effectsIn(cwd)].sort()).toEqual(['a', 'b', 'c'])
    await stop(next)
  })

  it('--no-supervise does the work in the process that was started', async () => {
    const cwd = dying()
    const run = startCli(['run', 'handlers.ts', '--no-supervise'], { cwd })
    await run.said('started')
    await publish(cwd, { exit: 5 }, 'killer')
    expect((await run.ended).code).toBe(5)
  })
})

describeWith('amqp', 'the supervisor beside a broker', (url) => {
  it('leaves with the code of a process that could not start: another one could not either', async () => {
    const text = "export default (app: any) => void app.service('mail-svc').on('task*', () => {})\n"
    const cwd = folderWith({ 'handlers.ts': text })
    const run = startCli(['run', 'handlers.ts', '--transport', url, '--store', 'sqlite:app.db'], { cwd })
    const again = run.said('another one in').catch(() => {})
    await Promise.race([run.ended, again])
    run.signal('SIGTERM')
    const { code, stdout, stderr } = await run.ended
    expect(stdout).not.toContain('another one in')
    expect(stderr).toContain("'task*'")
    expect(code).toBe(2)
  })

  it('tries again where one service has started and the broker refuses another', async () => {
    const [good, bad] = [`good-${randomUUID()}`, `bad-${randomUUID()}`]
    const text = `export default (app: any) => {
      for (const name of ['${good}', '${bad}']) app.service(name).on('task.created', () => {})
    }\n`
    const connection = await connect(url)
    const channel = await connection.createChannel()
    await channel.assertQueue(`${bad}.task.created`, { durable: true })
    onTestFinished(async () => {
      for (const name of [good, bad]) {
        const destinations = [`_${name}.deadletter`, `_${name}.deadletter.quarantine`]
        for (const queue of [`${name}.task.created`, ...destinations]) await channel.deleteQueue(queue)
        await channel.deleteExchange(`${name}.task.created.dlx`)
      }
      await connection.close()
    })
    const cwd = folderWith({ 'handlers.ts': text })
    const run = startCli(['run', 'handlers.ts', '--transport', url, '--store', 'sqlite:app.db'], { cwd })
    await run.said('ended with code 1: another one in')
    await channel.deleteQueue(`${bad}.task.created`)
    await run.said(`started    ${bad}`)
    expect((await stop(run)).code).toBe(0)
  })
})

it('a process that dies again and again is started less and less often, and a signal ends the waiting', async () => {
  const text =
    "export default (app: any) => { app.service('a').on('b', () => {}); setTimeout(() => process.exit(3), 1) }\n"
  const run = startCli(['run', 'handlers.ts', '--json'], { cwd: folderWith({ 'handlers.ts': text }) })
  const waits = () =>
    [...run.soFar().matchAll(/ended with code 3: another one in (\d+) ms/g)].map(([, ms]) => Number(ms))
  await expect.poll(() => waits().length, { interval: 100 }).toBeGreaterThan(2)
  const [first, second, third] = waits()
  expect(first).toBeLessThanOrEqual(200)
  expect(second).toBeGreaterThanOrEqual(200)
  expect(third).toBeGreaterThanOrEqual(400)
  run.signal('SIGTERM')
  expect([0, 3, 130]).toContain((await run.ended).code)
})
