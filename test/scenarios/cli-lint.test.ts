import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { cli, folderWith } from './child.ts'

const GOOD = `version: 1
services:
  mail-svc:
    timeout: 35s
    dependencies: [smtp]
    events: { order.placed: { policy: patient }, order.paid: { policy: critical } }
`
const WARNED = GOOD.replace('timeout: 35s', 'timeout: 10s')
const WRONG = WARNED.replace('policy: critical', 'order: key')
const BROKEN = 'version: 1\nservices:\n  mail-svc: { policy: standrad, timout: 5s }\n'

const run = (
  args: string,
  files: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string>> = {},
) => cli(['rules', 'lint', ...args.split(' ').filter(Boolean)], { cwd: folderWith(files), env })

describe('reprieve rules lint', () => {
  it('says that there is nothing to mend, and ends well', async () => {
    expect(await run('good.yaml', { 'good.yaml': GOOD })).toEqual({
      code: 0,
      stdout: 'good.yaml: nothing to mend\n',
      stderr: '',
    })
  })

  it('tells place, path, severity, id, reason and fix; warnings are no errors unless they are to be', async () => {
    const files = { 'reprieve.yaml': WARNED }
    const { code, stdout } = await run('', files)
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /reprieve\.yaml:5:\d+ services\.mail-svc\.dependencies\.0 warning dependency-outlasts-handler: smtp may take 30s, and the attempt ends after 10s .* — raise the event's 'timeout'/,
    )
    expect(stdout).toMatch(/\n\n0 errors, 1 warning; docs\/lint\.md/)
    expect((await run('--strict', files)).code).toBe(1)
  })

  it('looks at what the transport can where one is named, by URL, scheme or variable', async () => {
    const files = { 'wrong.yaml': WRONG }
    expect((await run('wrong.yaml', files)).code).toBe(0)
    const { code, stdout } = await run('wrong.yaml --transport kafka --store redis', files)
    expect(code).toBe(1)
    expect(stdout).toMatch(/wrong\.yaml:6:\d+ .*\."order\.paid"\.order error order-not-kept: on kafka /)
    const env = { REPRIEVE_TRANSPORT: 'amqp://127.0.0.1', REPRIEVE_STORE: 'redis://127.0.0.1' }
    expect((await run('wrong.yaml', files, env)).code).toBe(1)
    expect((await run('wrong.yaml --transport kafka --store sqlite:app.db', files)).code).toBe(0)
    expect((await run('wrong.yaml --transport kafka --store postgres://127.0.0.1', files)).code).toBe(0)
    expect((await run('wrong.yaml --transport postgres://127.0.0.1', files)).code).toBe(0)
    expect((await run('wrong.yaml --transport sqlite:app.db', files)).code).toBe(0)
  })

  it('and at how many processes there are', async () => {
    const files = { 'reprieve.yaml': 'version: 1\nservices: { a: { idempotency: { store: memory } } }\n' }
    expect((await run('', files)).code).toBe(0)
    expect((await run('--instances 3', files)).stdout).toMatch(/error memory-ledger: 3 processes/)
    expect((await run('--instances 3 --store sqlite:app.db', files)).code).toBe(0)
  })

  it('with --json answers an array, empty where all is well', async () => {
    const { code, stdout } = await run('wrong.yaml --json --transport kafka://127.0.0.1 --store redis', {
      'wrong.yaml': WRONG,
    })
    expect(code).toBe(1)
    expect(JSON.parse(stdout)).toMatchObject([
      { id: 'dependency-outlasts-handler', severity: 'warning', file: 'wrong.yaml', line: 5, column: 20 },
      {
        id: 'order-not-kept',
        severity: 'error',
        path: 'services.mail-svc.events."order.paid".order',
        docs: 'docs/lint.md#order-not-kept',
      },
    ])
    expect((await run('--json', { 'reprieve.yaml': GOOD })).stdout).toBe('[]\n')
  })

  it('tells a book that does not load in the same manner', async () => {
    const { code, stdout, stderr } = await run('bad.yaml', { 'bad.yaml': BROKEN })
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
    expect(stdout).toMatch(
      /^bad\.yaml:3:\d+ services\.mail-svc\.policy error does-not-load: found 'standrad' — expected .*did you mean 'standard'/m,
    )
    expect(stdout).toMatch(/^bad\.yaml:3:\d+ services\.mail-svc\.timout error does-not-load: /m)
    const json = await run('yaml.yaml --json', { 'yaml.yaml': 'version: [1\n' })
    expect(json.code).toBe(1)
    expect(JSON.parse(json.stdout)[0]).toMatchObject({
      id: 'does-not-load',
      file: 'yaml.yaml',
      severity: 'error',
    })
  })

  it('keeps still about what the book silences with a reason', async () => {
    const silence = `lint: { silence: [{ check: dependency-outlasts-handler, reason: our relay answers within 5s }] }\n`
    const quiet = await run('', { 'reprieve.yaml': `${WARNED}${silence}` })
    expect(quiet.stdout).toMatch(/nothing to mend/)
    const stale = await run('--strict', { 'reprieve.yaml': `${GOOD}${silence}` })
    expect(stale).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/reprieve\.yaml:7:\d+ .* silence-unused: /),
    })
  })

  it('finds the book above, and takes --rules', async () => {
    const cwd = folderWith({ 'reprieve.yaml': GOOD, 'other.yaml': WRONG })
    const deep = join(cwd, 'deep')
    mkdirSync(deep)
    expect((await cli(['rules', 'lint'], { cwd: deep })).stdout).toMatch(/reprieve\.yaml: nothing to mend/)
    writeFileSync(join(deep, 'own.yaml'), BROKEN)
    expect((await cli(['rules', 'lint', '--rules', 'own.yaml'], { cwd: deep })).code).toBe(1)
  })

  it.for([
    ['', /there is no rule book to lint\n {2}fix: /],
    ['gone.yaml', /gone\.yaml can't be read/],
    ['good.yaml --transport mqtt://x', /no adapter opens 'mqtt:\/\/x'/],
    ['good.yaml --instances none', /It must be a whole number/],
    ['good.yaml --bogus', /unknown option '--bogus'/],
  ] as const)('used wrongly: %s', async ([args, message]) => {
    const { code, stdout, stderr } = await run(args, { 'good.yaml': GOOD })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
  })
})
