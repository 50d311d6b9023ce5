import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { reprieve } from '../../src/index.ts'
import { root } from '../architecture/source.ts'
import { cli, folderWith } from '../scenarios/child.ts'
import { fillStore } from './operator-store.ts'

const FILE = join(root, 'docs/operator.md')
const BOOK = `version: 1
operations: { approval: { above: 500 } }
services: { payment-svc: { criticality: critical } }
`
/** Of an operation: letters have ids of version 4. */
const OPERATION = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/g
const PROGRESS = /^(?:frozen|approved|canary|watching|ramp|following|done): \d+ of .*\n/gm
/** Commands that show a mistake on purpose; all others end well. */
const ENDS_WITH = new Map([["dlq list --where '$.amount > lots'", 2]])

/** Without what depends on when it runs: moments, ages, and the room they take in a table. */
const timeless = (text: string) =>
  text
    .replace(PROGRESS, '')
    .replace(OPERATION, '<id>')
    .replace(/head [0-9a-f]{64}/, 'head <hash>')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<moment>')
    .replace(/\b\d+(?:\.\d+)? (?:ms|s|min|h|d)\b/g, '<span>')
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

  // the services run elsewhere, and the mail server is up again
  const app = await reprieve({
    transport: `sqlite:${join(cwd, 'reprieve.db')}`,
    rules: join(cwd, 'reprieve.yaml'),
    office: false,
  })
  app.service('mail-svc').on('task.created', () => undefined)
  await app.start()
  let written = page
  let id = ''
  try {
    for (const [whole, line, shown] of blocks) {
      const asked = words(line!.replaceAll('<id>', id))
      const { stdout, stderr, code } = await cli(asked, { cwd, env: { TZ: 'UTC' } })
      const printed = stdout + stderr
      expect(code, `${line}\n${printed}`).toBe(ENDS_WITH.get(line!) ?? 0)
      id = printed.match(OPERATION)?.[0] ?? id
      const kept = printed.replace(PROGRESS, '').replace(OPERATION, '<id>').trimEnd()
      written = written.replace(whole, () => `\`\`\`console\n$ reprieve ${line}\n${kept}\n\`\`\``)
      if (process.env.UPDATE_GOLDEN !== '1') expect(timeless(printed), line).toBe(timeless(shown!))
    }
  } finally {
    await app.close()
  }
  if (process.env.UPDATE_GOLDEN === '1') writeFileSync(FILE, written)
})
