import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../architecture/source.ts'
import { cli, folderWith } from '../scenarios/child.ts'
import { fillStore } from './operator-store.ts'

const FILE = join(root, 'docs/operator.md')
const BOOK = 'version: 1\nservices: { payment-svc: { criticality: critical } }\n'

/** Without what depends on when it runs: moments, ages, and the room they take in a table. */
const timeless = (text: string) =>
  text
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<moment>')
    .replace(/\b\d+ (?:ms|s|min|h|d)\b/g, '<span>')
    .replace(/ +/g, ' ')
    .trimEnd()

const words = (line: string): string[] =>
  [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!)

it('docs/operator.md shows what its commands print', async () => {
  const page = readFileSync(FILE, 'utf8')
  const blocks = [...page.matchAll(/^```console\n\$ reprieve (.*)\n([\s\S]*?)^```$/gm)]
  expect(blocks.length).toBe(page.match(/^```/gm)!.length / 2)
  const cwd = folderWith({ 'reprieve.yaml': BOOK })
  await fillStore(`sqlite:${join(cwd, 'reprieve.db')}`)

  let written = page
  for (const [whole, line, shown] of blocks) {
    const { stdout, stderr } = await cli(words(line!), { cwd, env: { TZ: 'UTC' } })
    const printed = stdout + stderr
    written = written.replace(whole, () => `\`\`\`console\n$ reprieve ${line}\n${printed.trimEnd()}\n\`\`\``)
    if (process.env.UPDATE_GOLDEN !== '1') expect(timeless(printed), line).toBe(timeless(shown!))
  }
  if (process.env.UPDATE_GOLDEN === '1') writeFileSync(FILE, written)
}, 300_000)
