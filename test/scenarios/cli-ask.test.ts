import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { describeWith } from '../services/urls.ts'
import { cli, project, startCli } from './child.ts'

describe('reprieve rules explain', () => {
  it('finds the rule book above, and tells what holds and on which line it is written', async () => {
    const cwd = join(project(), 'deep/down')
    mkdirSync(cwd, { recursive: true })
    const { code, stdout } = await cli(['rules', 'explain', 'mail-svc', 'task.created'], { cwd })
    expect(code).toBe(0)
    expect(stdout).toMatch(/policy +quick +.*reprieve\.yaml:6/)
    const json = JSON.parse(
      (await cli(['rules', 'explain', 'mail-svc', 'task.created', '--json'], { cwd })).stdout,
    )
    expect(json).toMatchObject({
      service: 'mail-svc',
      policy: { name: 'quick', maxRetries: 2 },
      deadLetter: { destination: '_mail-svc.deadletter' },
    })
  })
})

describe('reprieve trials', () => {
  it('puts a URL to the trials and tells each result', async () => {
    const cwd = project()
    const few = await cli(['trials', 'sqlite:trial.db', '--only', 'publish'], { cwd })
    expect(few).toMatchObject({ code: 0, stderr: '' })
    expect(few.stdout).toMatch(/^passed +transport +/m)
    expect(few.stdout).toMatch(/\n[1-9]\d* passed, 0 failed, \d+ skipped\n$/)
    expect(existsSync(join(cwd, 'trial.db'))).toBe(true)

    const shared = await cli(['trials', 'memory:', '--only', 'another process'], { cwd })
    expect(shared.stdout).toMatch(/\n[1-9]\d* passed, 0 failed, 0 skipped\n$/)
    const json = await cli(['trials', 'memory:', '--only', 'no such trial', '--json'], { cwd })
    expect(json.code).toBe(1)
    expect(JSON.parse(json.stdout)).toMatchObject({ passed: 0, failed: 0, results: [] })
  })
})

const onBroker = (url: string) => {
  it('letters that lie on the broker are listed and replayed by a process that runs no service', async () => {
    const service = `cli-${randomUUID().slice(0, 8)}-svc`
    const cwd = project(service, `${service}.task`)
    const env = { REPRIEVE_TRANSPORT: url }
    const run = startCli(['run', 'handlers.ts', '--no-office', '--json'], { cwd, env })
    await run.said('"is":"started"')
    const published = await cli(['publish', `${service}.task`, '{"bad":"not now"}', '--id', 'e-1'], {
      cwd,
      env,
    })
    expect(published).toMatchObject({ code: 0, stdout: 'e-1\n' })
    await run.said('"is":"dead"')
    const list = await cli(['dlq', 'list', '--json'], { cwd, env })
    expect(JSON.parse(list.stdout)).toMatchObject({
      count: 1,
      letters: [{ consumerService: service, error: 'not now' }],
    })
    writeFileSync(join(cwd, 'mended'), '')
    const replay = await cli(['dlq', 'replay', '--all', '--wait', '30s'], { cwd, env })
    expect(replay).toMatchObject({
      code: 0,
      stdout: '1 sent\n1 resolved, 0 dead again, 0 still on the way\n',
    })
    run.signal('SIGTERM')
    expect((await run.ended).code).toBe(0)
  })
}

describeWith('amqp', 'the command line on RabbitMQ', onBroker)
describeWith('kafka', 'the command line on Kafka', (url) => onBroker(`kafka://${url}`))
