import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { root } from '../architecture/source.ts'

/** What a user gets: the tarball, in an empty folder, with plain Node and no TypeScript of ours. */
const folder = mkdtempSync(join(tmpdir(), 'reprieve-package-'))
const npm = (args: readonly string[], cwd: string) =>
  execFileSync('npm', [...args, '--no-audit', '--no-fund', '--loglevel=error'], { cwd, encoding: 'utf8' })
const node = (...args: readonly string[]) =>
  execFileSync(process.execPath, args, {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: '' },
  })

const installed = join(folder, 'node_modules/reprieve')

beforeAll(() => {
  rmSync(join(root, 'dist'), { recursive: true, force: true }) // as a clone has none
  npm(['run', 'package', '--silent', '--', '--pack-destination', folder], root)
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz'))!
  writeFileSync(join(folder, 'package.json'), '{"name":"empty","private":true,"type":"module"}')
  npm(['install', '--prefer-offline', '--ignore-scripts', `./${tarball}`], folder)
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('the published package', () => {
  it('holds JavaScript and declarations, and none of our sources, tests or Node binaries', () => {
    const files = readdirSync(installed, { recursive: true, encoding: 'utf8' })
    expect(files).toEqual(
      expect.arrayContaining(['README.md', 'LICENSE', join('dist', 'index.js'), join('dist', 'index.d.ts')]),
    )
    expect(files.filter((name) => /\.test\.|^src.*\.ts$|^test|\.db$/.test(name))).toEqual([])
    expect(readdirSync(join(folder, 'node_modules')).filter((name) => name.startsWith('node-'))).toEqual([])
  })

  it('brings the pages that its command line names', () => {
    const cli = join(installed, 'dist/cli/main.js')
    const told = [node(cli, 'doctor', '--help'), node(cli, 'rules', 'lint', '--help')].join(' ')
    const pages = told.match(/docs\/[a-z-]+\.md/g) ?? []
    expect(new Set(pages)).toEqual(new Set(['docs/doctor.md', 'docs/lint.md']))
    for (const page of pages) expect(readFileSync(join(installed, page), 'utf8')).toMatch(/^# /)
  })

  it('can be imported, and runs an event through memory', () => {
    writeFileSync(
      join(folder, 'app.js'),
      `import { reprieve } from 'reprieve'
       const app = await reprieve({ transport: 'memory:' })
       const greeted = Promise.withResolvers()
       app.service('greeter').on('hello', (event) => greeted.resolve('hello ' + event.data.name))
       await app.start()
       await app.publish('hello', { name: 'world' })
       console.log(await greeted.promise)
       await app.close()`,
    )
    expect(node('app.js')).toBe('hello world\n')
  })

  it('brings its testing kit', () => {
    const out = node(
      '--input-type=module',
      '-e',
      "import { trials } from 'reprieve/testing'; console.log(trials.length)",
    )
    expect(Number(out)).toBeGreaterThanOrEqual(40)
  })

  it('brings transactions for PostgreSQL, without its client', () => {
    const script = "import { postgresTx } from 'reprieve/postgres'; console.log(postgresTx({}).name)"
    expect(node('--input-type=module', '-e', script)).toBe('postgres\n')
  })

  it('brings its command line', () => {
    const cli = join(installed, 'dist/cli/main.js')
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
    expect(node(cli, '--version').trim()).toBe(version)
    expect(node(cli, 'rules', 'explain', 'any-svc', 'any.event')).toContain('standard')
    expect(readFileSync(cli, 'utf8').split('\n')[0]).toBe('#!/usr/bin/env node')
    expect(dirname(cli)).toContain('node_modules')
  })

  it('names the missing client where a broker’s library is not installed', () => {
    writeFileSync(
      join(folder, 'broker.js'),
      `import { reprieve } from 'reprieve'
       await reprieve({ transport: process.argv[2], store: 'memory:' }).catch((error) => console.log(error.code, error.fix))`,
    )
    expect(node('broker.js', 'amqp://127.0.0.1:1')).toMatch(/^client_missing .*npm (i|install) amqplib/)
    expect(node('broker.js', 'kafka://127.0.0.1:1')).toMatch(
      /^client_missing .*npm (i|install) @platformatic\/kafka/,
    )
  })
})
