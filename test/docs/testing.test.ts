import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { createFaults, testApp } from '../../src/testing/index.ts'
import { root } from '../architecture/source.ts'

const page = readFileSync(join(root, 'docs/testing.md'), 'utf8')
const blocks = [...page.matchAll(/^```ts (\S+)\n([\s\S]*?)^```$/gm)].map(
  ([, name, text]) => [name!, text!] as const,
)

// inside the project, so that `reprieve` is the package itself
mkdirSync(join(root, '.tmp'), { recursive: true })
const folder = mkdtempSync(join(root, '.tmp/docs-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
for (const [name, text] of blocks) writeFileSync(join(folder, name), text)
/** The one thing that a user's project does not need: here the package is its sources, not what is published. */
const conditions = "{ conditions: ['source', 'node', 'import', 'default'] }"
const config = `export default { resolve: ${conditions}, ssr: { resolve: ${conditions} } }\n`
writeFileSync(join(folder, 'vitest.config.js'), config)

/** In a process of its own, as a user would. A runner must not think that it runs within this one. */
const run = (...args: readonly string[]) => {
  const others = Object.entries(process.env).filter(
    ([name]) => !/^(VITEST|NODE_TEST|TEST$|NODE_OPTIONS)/.test(name),
  )
  const env = { ...Object.fromEntries(others), NODE_OPTIONS: '--conditions=source', NO_COLOR: '1' }
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, env, encoding: 'utf8' })
  return { status, printed: stdout + stderr }
}
const vitest = join(root, 'node_modules/vitest/vitest.mjs')

describe('docs/testing.md', () => {
  it('shows the handlers, a test for vitest and one for node:test', () => {
    expect(blocks.map(([name]) => name)).toEqual(['mail.ts', 'mail.test.ts', 'mail.node.ts'])
    expect(page.match(/^```ts/gm)).toHaveLength(3)
  })

  it('has a test that passes with vitest', () => {
    const { status, printed } = run(vitest, 'run', '--root', folder, '--reporter=verbose')
    expect(printed).toMatch(/Tests\s+3 passed \(3\)/)
    expect(status).toBe(0)
  })

  it('has a test that passes with node --test', () => {
    const { status, printed } = run('--test', '--test-reporter=tap', 'mail.node.ts')
    expect(printed).toMatch(/^# pass 2$/m)
    expect(status).toBe(0)
  })

  it('has tests that would notice', () => {
    writeFileSync(join(folder, 'mail.ts'), blocks[0]![1].replace(/await ctx\.call.*$/m, ''))
    expect(run(vitest, 'run', '--root', folder).status).toBe(1)
    expect(run('--test', 'mail.node.ts').status).toBe(1)
    writeFileSync(join(folder, 'mail.ts'), blocks[0]![1])
  })

  it('names everything that an app in virtual time has beyond an app', async () => {
    await using app = await testApp()
    const own = ['settled', 'done', 'dead', 'retries', 'facts', 'expectDone', 'expectDead', 'expectDelays']
    for (const name of [...own, 'clock', 'faults', 'close', 'office']) {
      expect(Object.keys(app)).toContain(name)
      expect(page).toContain(`\`${name}`)
    }
    for (const name of ['plan', 'down', 'mend']) {
      expect(Object.keys(createFaults())).toContain(name)
      expect(page).toContain(`faults.${name}`)
    }
  })
})
