import { execFileSync } from 'node:child_process'
import { createWriteStream, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { cli, folderWith, project, startCli } from './child.ts'

describe('reprieve publish', () => {
  it('where nobody is subscribed says so, with the fix, and exits with 1', async () => {
    const { code, stdout, stderr } = await cli(['publish', 'task.created', '{}'], { cwd: folderWith() })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/nobody is subscribed to topic 'task\.created'.*\n {2}fix: /)
  })

  it('to a file that is not there names it, and makes none', async () => {
    const cwd = folderWith()
    const one = await cli(['publish', 'task.created', '{}', '--transport', 'sqlite:slip.db'], { cwd })
    expect(one.code).toBe(1)
    expect(one.stderr).toMatch(
      /'slip\.db': there is no such file, so nobody is subscribed to topic 'task\.created'/,
    )
    expect(one.stderr).toMatch(/\n {2}fix: name the file that the app uses/)
    const input = '{"type":"task.created","data":1}'
    const many = await cli(['publish', '-', '--transport', 'sqlite:slip.db'], { cwd, input })
    expect(many).toMatchObject({ code: 1, stdout: '0 events published, those before line 1\n' })
    expect(many.stderr).toMatch(/line 1: .*'slip\.db': there is no such file/)
    const bad = await cli(['publish', 'task.created', '{}', '--expires', 'tomorrow'], { cwd })
    expect(bad.code).toBe(2)
    expect(readdirSync(cwd)).toEqual([])
  })

  it('refuses for a stream what is said of one event, a folder, and a time that is none', async () => {
    const cwd = folderWith({ 'events.jsonl': '{"type":"task.created"}\n' })
    const refused = async (args: readonly string[], told: RegExp) => {
      const ended = await cli(['publish', ...args], { cwd })
      expect(ended).toEqual({ code: 2, stdout: '', stderr: expect.stringMatching(told) })
    }
    await refused(
      ['--file', 'events.jsonl', '--header', 'a=b', '--order-key', 'k'],
      /takes no --order-key and no --header\n {2}fix: leave it out: each line says its own/,
    )
    await refused(['--file', '.'], /the events can't be read: '\.' is a folder\n {2}fix: /)
    await refused(
      ['task.created', '{}', '--expires', 'tomorrow'],
      /its expires 'tomorrow' is no time\n {2}fix: write it by RFC 3339/,
    )
  })

  it('a stream that a signal ends says what was published, and where to go on', async () => {
    const cwd = project()
    const run = startCli(['run', 'handlers.ts', '--json'], { cwd })
    await run.said('"is":"started"')
    const fifo = join(cwd, 'pipe')
    execFileSync('mkfifo', [fifo])
    const publish = startCli(['publish', '--file', 'pipe'], { cwd })
    // stays open: more may come
    const pipe = createWriteStream(fifo)
    pipe.write('{"type":"task.created","id":"a","data":{}}\n\n{"type":"task.created","id":"b","data":{}}\n')
    await run.said('"event":"b"')
    publish.signal('SIGINT')
    expect(await publish.ended).toEqual({
      code: null,
      stdout: '2 events published, those before line 4\n',
      stderr: 'reprieve: line 4: ended by a signal\n',
    })
    pipe.destroy()
    run.signal('SIGTERM')
    await run.ended
  })

  it('a stream: events of both forms, from a file or a pipe, up to the first bad line', async () => {
    const cwd = project()
    const run = startCli(['run', 'handlers.ts', '--json'], { cwd })
    await run.said('"is":"started"')
    const many = Array.from({ length: 1200 }, (_, i) =>
      JSON.stringify({ type: 'task.created', id: `n-${i}`, data: {} }),
    )
    writeFileSync(join(cwd, 'events.jsonl'), `${many.join('\r\n')}\n`)
    const file = await cli(['publish', '--file', 'events.jsonl'], { cwd })
    expect(file).toEqual({ code: 0, stdout: '1200 events published\n', stderr: '' })

    const input = [
      '{"specversion":"1.0","id":"ce-1","source":"/shop","type":"task.created","data":{"flaky":true}}',
      '',
      '{"type":"task.created","id":"s-1","data":{},"headers":{"a":"b"},"priority":"high"}',
      '{"type":"task.created","colour":"red"}',
      '{"type":"task.created","id":"never"}',
    ].join('\n')
    const piped = await cli(['publish', '-'], { cwd, input })
    expect(piped).toEqual({
      code: 1,
      stdout: '2 events published, those before line 4\n',
      stderr: "reprieve: line 4: 'colour' is not known\n",
    })
    const unheard = await cli(['publish', '-', '--json'], { cwd, input: '{"type":"nobody.hears","data":1}' })
    expect(unheard.code).toBe(1)
    expect(JSON.parse(unheard.stdout)).toMatchObject({
      published: 0,
      stopped: { line: 1, because: expect.stringContaining('nobody is subscribed'), fix: expect.any(String) },
    })
    const done = () => run.soFar().match(/"is":"done"/g)?.length
    await expect.poll(done).toBe(1202)
    run.signal('SIGTERM')
    const { stdout } = await run.ended
    expect(stdout).not.toContain('never')
  })
})
