import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { systemClock } from '../../src/adapters/system/clock.ts'
import { reprieve } from '../../src/index.ts'
import { readRules } from '../../src/rules/index.ts'
import { root } from '../architecture/source.ts'
import { cli, folderWith } from '../scenarios/child.ts'
import { fillStore } from './operator-store.ts'

const FILE = join(root, 'docs/watch.md')
const MINUTE = 60_000

/** Without what depends on when it runs. */
const timeless = (text: string) =>
  text
    .replace(/\d{4}-\d\d-\d\d[T ][\d:.]+Z/g, '<moment>')
    .replace(/\b\d+(?:\.\d+)? (?:ms|s|min|h|d)\b/g, '<span>')
    .replace(/ +/g, ' ')
    .trimEnd()

/** As if an office had looked for a quarter of an hour. */
const watchFor = async (transport: string, rules: string): Promise<void> => {
  let ago = 15 * MINUTE
  const clock = { ...systemClock, now: () => systemClock.now() - ago }
  const book = readRules(rules, 'watch.yaml', {})
  await using app = await reprieve({ transport, rules: book, clock, office: false })
  await app.watch.snapshot()
  await fillStore(transport)
  for (; ago >= 0; ago -= MINUTE) {
    await app.watch.look()
    if (ago % (5 * MINUTE) === 0 && ago < 15 * MINUTE) await app.watch.snapshot()
  }
}

it('docs/watch.md shows what its commands print, by the rules on it', async () => {
  const page = readFileSync(FILE, 'utf8')
  const rules = /^```yaml\n([\s\S]*?)^```$/m.exec(page)![1]!
  const cwd = folderWith({ 'reprieve.yaml': rules })
  await watchFor(`sqlite:${join(cwd, 'reprieve.db')}`, rules)
  let written = page
  for (const [whole, line, shown] of page.matchAll(/^```console\n\$ reprieve (.*)\n([\s\S]*?)^```$/gm)) {
    const { stdout, stderr } = await cli(line!.split(' '), { cwd, env: { TZ: 'UTC' } })
    expect(stderr).toBe('')
    written = written.replace(whole, () => `\`\`\`console\n$ reprieve ${line}\n${stdout.trimEnd()}\n\`\`\``)
    if (process.env.UPDATE_GOLDEN !== '1') expect(timeless(stdout), line).toBe(timeless(shown!))
  }
  if (process.env.UPDATE_GOLDEN === '1') writeFileSync(FILE, written)

  const lines = (await cli(['dlq', 'alerts', '--all', '--jsonl'], { cwd })).stdout.trim().split('\n')
  expect(lines.map((each) => JSON.parse(each).metric)).toContain('depth')
  const history = JSON.parse((await cli(['dlq', 'stats', '--history', '--json'], { cwd })).stdout)
  expect(history).toMatchObject({ trend: { direction: 'increasing', recent: 1160 } })
})
