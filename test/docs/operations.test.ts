import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { Permanent, reprieve } from '../../src/index.ts'
import { root } from '../architecture/source.ts'
import { cli, folderWith } from '../scenarios/child.ts'
import { fillStore } from './operator-store.ts'
import { runsItsPrograms } from './programs.ts'

const FILE = join(root, 'docs/operations.md')
/** Of an operation: letters have ids of version 4. */
const OPERATION = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/g
const PROGRESS =
  /^(?:frozen|approved|canary|watching|ramp|following|done|stopped|paused): \d+ of (?!.*canaries).*\n/gm

/** Without what depends on when it runs: ids, moments, ages, how far it was, and the room they take in a table. */
const timeless = (text: string) =>
  text
    .replace(PROGRESS, '')
    .replace(OPERATION, '<id>')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<moment>')
    .replace(/\b\d+(?:\.\d+)? (?:ms|s|min|h|d)\b/g, '<span>')
    .replace(/\b(?:[3-9]|10) of 10 canaries/g, '<some> of 10 canaries')
    .replace(/\d+ dead again, \d+ on the way|\d+ dead again|\d+ on the way/g, '<some>')
    .replace(/ +/g, ' ')
    .trimEnd()

const words = (line: string): string[] =>
  [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!)

runsItsPrograms('docs/operations.md', ['operations.ts'])

it('docs/operations.md shows what its commands print', async () => {
  const page = readFileSync(FILE, 'utf8')
  const [, book] = /^```yaml\n([\s\S]*?)^```$/m.exec(page)!
  const blocks = [...page.matchAll(/^```console\n\$ reprieve (.*)\n([\s\S]*?)^```$/gm)]
  const cwd = folderWith({ 'reprieve.yaml': book! })
  const url = `sqlite:${join(cwd, 'reprieve.db')}`
  await fillStore(url)
  // no office of its own: the commands do it all
  const app = await reprieve({ transport: url, rules: join(cwd, 'reprieve.yaml'), office: false })
  app.service('mail-svc').on('task.created', () => undefined)
  app.service('payment-svc').on('payment.booked', () => {
    throw new Permanent("amount: expected a number, got '12,50'")
  })
  await app.start()
  let written = page
  let id = ''
  try {
    for (const [whole, line, shown] of blocks) {
      const { stdout, stderr } = await cli(words(line!.replaceAll('<id>', id)), { cwd, env: { TZ: 'UTC' } })
      const printed = stdout + stderr
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
