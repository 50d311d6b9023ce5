import { execFile, execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { root } from '../architecture/source.ts'

const folder = mkdtempSync(join(tmpdir(), 'reprieve-clone-'))
afterAll(() => rm(folder, { recursive: true, force: true }), 120_000)

/** What a clone would bring: no more than git knows, as it stands here. */
const exportTree = (): void => {
  const known = ['ls-files', '--cached', '--others', '--exclude-standard']
  const paths = execFileSync('git', known, { cwd: root, encoding: 'utf8' }).split('\n')
  for (const path of paths) {
    if (path === '' || !existsSync(join(root, path))) continue
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    cpSync(join(root, path), join(folder, path))
  }
}

/** Where packages come from stays as it is; which package this test was started in must not be told. */
const env = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !/^npm_(package|lifecycle|config_local_prefix)|^INIT_CWD$|^VITEST|^NODE_ENV$/.test(name),
  ),
)

const npm = (...args: readonly string[]): Promise<{ readonly code: number; readonly out: string }> =>
  new Promise((resolve) => {
    const most = { cwd: folder, env, timeout: 240_000, maxBuffer: 64 * 1024 * 1024 }
    execFile('npm', args, most, (error, stdout, stderr) =>
      resolve({ code: error ? 1 : 0, out: `${stdout}${stderr}` }),
    )
  })

const UNREACHABLE = /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ENOTCACHED)\b/

it('the first command of the README works from a fresh clone, and its demonstration adds up', async (test) => {
  const [first] = /^npm ci && npm start\b/m.exec(readFileSync(join(root, 'README.md'), 'utf8')) ?? []
  expect(first).toBeDefined()
  exportTree()
  const installed = await npm('ci', '--prefer-offline', '--no-audit', '--no-fund')
  if (installed.code !== 0 && UNREACHABLE.test(installed.out))
    return test.skip('packages can not be had: no registry answers')
  expect(installed).toMatchObject({ code: 0 })
  const started = await npm('start', '--', '--for', '3s')
  expect(started).toMatchObject({ code: 0, out: expect.stringContaining('It adds up.') })
  const row = /after the replay +(\d+) +(\d+) +(\d+) +(\d+) +(\d+)/.exec(started.out)
  const [accepted, done, waiting, dead, flying] = (row ?? []).slice(1).map(Number)
  expect(accepted).toBeGreaterThan(0)
  expect({ done, waiting, dead, flying }).toEqual({ done: accepted, waiting: 0, dead: 0, flying: 0 })
}, 500_000)
