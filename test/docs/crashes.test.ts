import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { root } from '../architecture/source.ts'
import { cli, folderWith, startCli } from '../scenarios/child.ts'

const page = readFileSync(join(root, 'docs/crashes.md'), 'utf8')
const block = (head: string): string => {
  const at = page.indexOf(`\n\`\`\`${head}\n`)
  expect(at, head).toBeGreaterThan(0)
  const from = at + head.length + 5
  return page.slice(from, page.indexOf('\n```', from) + 1)
}

/** Times and random waits aside. */
const plain = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => line.replace(/^[\d:]+/, 'then').replace(/in \d+ ms/, 'in a while'))

describe('docs/crashes.md', () => {
  it('shows what the operator sees of a message that kills its process', async () => {
    const cwd = folderWith({
      'handlers.ts': block('ts handlers.ts'),
      'reprieve.yaml': block('yaml reprieve.yaml'),
    })
    const run = startCli(['run', 'handlers.ts'], { cwd })
    await run.said('started')
    const [, type, data, id] = /reprieve publish (\S+) '(.*)' --id (\S+)`/.exec(page)!
    await cli(['publish', type!, data!, '--id', id!], { cwd })
    await run.said('poison')
    run.signal('SIGTERM')
    const { stdout, code } = await run.ended
    expect(plain(stdout).filter((line) => !/drained/.test(line))).toEqual(plain(block('text')))
    expect(code).toBe(0)
  })

  it('shows a watchdog that does what it says', () => {
    // inside the project, so that `reprieve` is the package itself
    mkdirSync(join(root, '.tmp'), { recursive: true })
    const folder = mkdtempSync(join(root, '.tmp/docs-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    writeFileSync(join(folder, 'watchdog.ts'), block('ts watchdog.ts'))
    const { stdout, stderr } = spawnSync(
      process.execPath,
      ['--conditions=source', join(folder, 'watchdog.ts')],
      {
        encoding: 'utf8',
      },
    )
    expect(stdout).toBe(block('text watchdog.ts'))
    expect(stderr).toMatch(
      /the event loop has been blocked for \d+ ms:\n {4}at chew \(.*watchdog\.ts:\d+:\d+\)/,
    )
  })
})
