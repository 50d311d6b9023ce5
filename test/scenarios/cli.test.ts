import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { cli, project, startCli } from './child.ts'

describe('two processes on one SQLite file', () => {
  it('run, publish, list, show, replay: a dead letter is seen, understood, and resolved', async () => {
    const cwd = project()
    const run = startCli(['run', 'handlers.ts'], { cwd })
    await run.said('started    mail-svc')

    const evil = 'no \u001b[2J\u202ebox'
    const fine = await cli(['publish', 'task.created', '{"id":"t-1"}', '--id', 'e-1'], { cwd })
    expect(fine).toEqual({ code: 0, stdout: 'e-1\n', stderr: '' })
    await cli(['publish', 'task.created', '{"flaky":true}', '--id', 'e-2'], { cwd })
    const data = JSON.stringify({ bad: evil, big: 1 }).replace(':1}', ':12345678901234567890}')
    await cli(
      ['publish', 'task.created', data, '--id', 'e-3', '--header', 'x-team=blue', '--correlation-id', 'c-9'],
      {
        cwd,
      },
    )
    await run.said('done       mail-svc  task.created  e-1  attempt 1')
    await run.said(
      'retry      mail-svc  task.created  e-2  attempt 1 failed, again in 50 ms  transient: busy',
    )
    await run.said('done       mail-svc  task.created  e-2  attempt 2')
    await run.said('dead       mail-svc  task.created  e-3 of c-9  permanent → _mail-svc.deadletter')

    const list = await cli(['dlq', 'list', '--service', 'mail-svc', '--category', 'permanent'], { cwd })
    expect(list.stdout).toMatch(/^id +age +state +service +topic +category +reason +error\n/)
    expect(list.stdout).toContain('no ␛[2J<U+202E>box')
    expect(list.stdout).not.toMatch(/[\u001b\u202e]/)
    const id = /^[0-9a-f-]{36}(?= )/m.exec(list.stdout)?.[0] ?? ''

    const shown = await cli(['dlq', 'show', id.slice(0, 8)], { cwd, env: { FORCE_COLOR: '1' } })
    for (const text of ['e-3', 'x-team', 'blue', 'c-9', '12345678901234567890', 'attempts', '1 of 3']) {
      expect(shown.stdout).toContain(text)
    }
    // coloured where it is asked for, and still only by us
    expect(shown.stdout).toContain('\u001b[31m')
    expect(shown.stdout).not.toContain('\u001b[2J')
    const json = JSON.parse((await cli(['dlq', 'show', id, '--json'], { cwd })).stdout)
    expect(json).toMatchObject({
      dlqId: id,
      state: 'open',
      originalEventId: 'e-3',
      consumerService: 'mail-svc',
      failureCategory: 'permanent',
      httpStatus: 422,
      error: evil,
      correlationId: 'c-9',
      headers: { 'x-team': 'blue' },
      retryAttempts: [{ attempt: 1, error: evil }],
    })

    const early = await cli(['dlq', 'replay', '--service', 'mail-svc', '--wait', '20s'], { cwd })
    expect(early).toMatchObject({
      code: 1,
      stdout: '1 sent\n0 resolved, 1 dead again, 0 still on the way\n',
    })
    writeFileSync(join(cwd, 'mended'), '')
    // it came back once already: that it goes again is said on purpose
    const limited = await cli(['dlq', 'replay', '--all', '--json'], { cwd })
    expect(JSON.parse(limited.stdout)).toMatchObject({ sent: [], skipped: [{ because: 're-entry limit' }] })
    const replayed = await cli(
      ['dlq', 'replay', '--all', '--although', 're-entry limit', '--wait', '20s', '--json'],
      { cwd },
    )
    expect(replayed.code).toBe(0)
    expect(JSON.parse(replayed.stdout)).toMatchObject({
      sent: [expect.any(String)],
      skipped: [],
      endings: { resolved: 1, deadAgain: 0, onTheWay: 0 },
    })
    expect((await cli(['dlq', 'list'], { cwd })).stdout).toBe('no dead letters\n')
    const all = JSON.parse((await cli(['dlq', 'list', '--state', 'all', '--json'], { cwd })).stdout)
    expect(all.letters.map(({ state }: { state: string }) => state).sort()).toEqual([
      'dead again',
      'resolved',
    ])

    run.signal('SIGTERM')
    const { code, stdout } = await run.ended
    expect(code).toBe(0)
    expect(stdout).toMatch(/drained {4}mail-svc\n$/)
    expect(stdout).not.toMatch(/[\u001b\u202e]/)
  })

  it('letters that no office took over are seen all the same, and a replay waits for its service', async () => {
    const cwd = project()
    const run = startCli(['run', 'handlers.ts', '--no-office', '--json'], { cwd })
    await run.said('"is":"started"')
    await cli(['publish', 'task.created', '{"bad":"no"}'], { cwd })
    await run.said('"is":"dead"')
    run.signal('SIGINT')
    const { stdout } = await run.ended
    const facts = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(facts.map(({ is }) => is)).toEqual(['started', 'failed', 'dead', 'drained'])

    const list = JSON.parse((await cli(['dlq', 'list', '--json'], { cwd })).stdout)
    expect(list).toMatchObject({ count: 1, letters: [{ consumerService: 'mail-svc', state: 'open' }] })
    const replay = await cli(['dlq', 'replay', list.letters[0].dlqId, '--wait', '300ms'], { cwd })
    expect(replay).toMatchObject({ code: 1, stdout: expect.stringContaining('1 still on the way') })
  })
})

describe('reprieve run, at its end', () => {
  it('lets handlers finish after a signal, leaves the rest to the next run, and loses nothing', async () => {
    const cwd = project()
    const run = startCli(['run', 'handlers.ts'], { cwd })
    await run.said('started')
    await cli(['publish', 'task.created', '{"slow":1500}', '--id', 'long'], { cwd })
    await run.said('began 1500')
    run.signal('SIGTERM')
    const { code, stdout } = await run.ended
    expect(code).toBe(0)
    expect(stdout).toMatch(/done {7}mail-svc {2}task.created {2}long .*\n.*drained/)

    await cli(['publish', 'task.created', '{}', '--id', 'after'], { cwd })
    const next = startCli(['run', 'handlers.ts', '--json'], { cwd })
    await next.said('"event":"after"')
    next.signal('SIGTERM')
    await next.ended
    expect(next.soFar()).toMatch(/"is":"done".*"event":"after"/)
  })

  it('--quiet tells only what needs someone', async () => {
    const cwd = project()
    const run = startCli(['run', 'handlers.ts', '--quiet'], { cwd })
    const subscribed = async () => (await cli(['publish', 'task.created', '{}'], { cwd })).code
    await expect.poll(subscribed).toBe(0)
    await cli(['publish', 'task.created', '{"bad":"no"}', '--id', 'worse'], { cwd })
    await run.said('worse')
    run.signal('SIGTERM')
    expect((await run.ended).stdout).toMatch(/^[\d:]+ {2}dead {7}mail-svc {2}task\.created {2}worse .*\n$/)
  })

  it('a handler that takes too long is cut short and its event handed back, with no attempt spent', async () => {
    const cwd = project()
    const run = startCli(['run', 'handlers.ts', '--drain', '200ms'], { cwd })
    await run.said('started')
    await cli(['publish', 'task.created', '{"slow":60000}', '--id', 'long'], { cwd })
    await run.said('began 60000')
    run.signal('SIGTERM')
    const { code, stdout } = await run.ended
    expect(code).toBe(0)
    expect(stdout).not.toMatch(/done|retry/)
    const next = startCli(['run', 'handlers.ts', '--json'], { cwd })
    await next.said('began 60000, attempt 1')
    next.signal('SIGTERM')
    next.signal('SIGINT')
  })

  it('a second signal leaves at once', async () => {
    const cwd = project()
    const run = startCli(['run', 'handlers.ts'], { cwd })
    await run.said('started')
    await cli(['publish', 'task.created', '{"slow":60000}'], { cwd })
    await run.said('began 60000')
    run.signal('SIGTERM')
    await new Promise((resolve) => setTimeout(resolve, 300))
    run.signal('SIGINT')
    expect((await run.ended).code).toBe(130)
  })
})
