import { join } from 'node:path'
import { expect, it } from 'vitest'
import { widthOf } from '../../src/cli/print/width.ts'
import { reprieve } from '../../src/index.ts'
import { sampleLetters } from '../../src/testing/letters.ts'
import { type Ended, folderWith, startNode } from './child.ts'

const MINUTE = 60_000
const NASTY = 'x\u001b[2J\u202e東京タワー👩🏽‍🚀 evil\u0007\u200b'

/** As on a terminal of so many columns: what decides is whether stdout says it is one. */
const TERMINAL = (columns: number) =>
  `Object.defineProperty(process.stdout,'isTTY',{value:true});process.stdout.columns=${columns};` +
  "import{WriteStream}from'node:tty';process.stdout.getColorDepth=WriteStream.prototype.getColorDepth;"

const onTerminal = (
  columns: number,
  args: readonly string[],
  cwd: string,
  env: Record<string, string> = {},
): Promise<Ended> => {
  const preload = `data:text/javascript,${encodeURIComponent(TERMINAL(columns))}`
  const main = join(import.meta.dirname, '../../src/cli/main.ts')
  return startNode(['--import', preload, main, ...args], { cwd, env: { TERM: 'xterm-256color', ...env } })
    .ended
}

const COLOUR = /\u001b\[[\d;]*m/g
const plain = (text: string): string => text.replaceAll(COLOUR, '')

/** Letters, groups, acts, alerts and snapshots with what nobody wants on his terminal. */
const filled = async (): Promise<string> => {
  const cwd = folderWith({
    'reprieve.yaml': `version: 1\ndefaults: { alerts: { depth: { from: 1, for: 1s, action: ${JSON.stringify(NASTY.replaceAll(/[^\x20-\x7e]/g, '?'))} } } }\n`,
  })
  await using app = await reprieve({
    transport: `sqlite:${join(cwd, 'reprieve.db')}`,
    rules: join(cwd, 'reprieve.yaml'),
    office: false,
  })
  const letters = sampleLetters(4, Date.now() - 60 * MINUTE, (n) => ({
    ...{ id: `0000000${n}-1111-4222-8333-444444444444`, fingerprint: `f1-000000000000000${n}` },
    ...{ error: `${NASTY} ${n}`, service: `${NASTY}${n}`, topic: NASTY, code: NASTY },
  }))
  await app.store.letters.keep(letters)
  await app.office.tend('f1-0000000000000001', { owner: NASTY, note: NASTY }, { reason: NASTY })
  await app.watch.look()
  await new Promise((resolve) => setTimeout(resolve, 1100))
  await app.watch.look()
  await app.watch.snapshot()
  return cwd
}

const TABLES = [
  ['dlq', 'list'],
  ['dlq', 'groups'],
  ['dlq', 'stats'],
  ['dlq', 'stats', '--history'],
  ['dlq', 'alerts'],
  ['dlq', 'show', '00000001'],
  ['dlq', 'show', 'f1-0000000000000001'],
  ['audit', 'list'],
] as const

it('tables fit the terminal, whatever others wrote, and what they wrote is inert', async () => {
  const cwd = await filled()
  for (const [columns, args] of [
    ...TABLES.map((each) => [80, each] as const),
    ...[TABLES[1], TABLES[2], TABLES[7]].map((each) => [40, each] as const),
  ]) {
    const shown = await onTerminal(columns, args, cwd)
    const name = `${args.join(' ')} on ${columns}`
    expect(shown, name).toMatchObject({ code: 0 })
    const text = plain(shown.stdout)
    expect(text, name).not.toMatch(
      /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/,
    )
    // facts are lines that a reader may want whole; of a table no line is wider than the terminal
    if (args[1] === 'show') continue
    const widths = text.split('\n').map(widthOf)
    expect(Math.max(...widths), `${name}\n${text}`).toBeLessThanOrEqual(columns)
  }
})

it('on forty columns what is shown for reading goes on below, and nothing of it is cut', async () => {
  const cwd = folderWith({})
  const error = 'connect ECONNREFUSED to the mail server at smtp.internal.example.org while sending'
  {
    await using app = await reprieve({ transport: `sqlite:${join(cwd, 'reprieve.db')}`, office: false })
    const [letter] = sampleLetters(1, Date.now() - MINUTE, () => ({
      ...{ id: '00000001-1111-4222-8333-444444444444', service: 'notification-and-mail-svc', error },
      topic: 'todo.task.created.in.some.far.project',
    }))
    const records = [1, 2].map((attempt) => ({
      ...{ attempt, at: letter!.buriedAt, category: 'transient', kind: 'integration', name: 'Error', error },
      worker: 'w',
    }))
    const trail = { ...letter!.trail, spent: 2, records: records as never }
    await app.store.letters.keep([{ ...letter!, trail }])
  }
  const stats = plain((await onTerminal(40, ['dlq', 'stats'], cwd)).stdout)
  expect(Math.max(...stats.split('\n').map(widthOf)), stats).toBeLessThanOrEqual(40)
  expect(stats).not.toContain('…')
  const all = stats.replaceAll(/\s+/g, ' ')
  expect(all).toContain('1 open: 1 new, 0 came back, 1 with nobody on them')
  expect(
    stats
      .split('\n')
      .map((line) => line.slice(6, 22).trim())
      .join(''),
  ).toContain('notification-and-mail-svc')

  const shown = plain((await onTerminal(40, ['dlq', 'show', '00000001'], cwd)).stdout)
  const trail = shown.slice(shown.indexOf('\ntrail\n'), shown.indexOf('\nevent\n'))
  expect(Math.max(...trail.split('\n').map(widthOf)), shown).toBeLessThanOrEqual(40)
  expect(trail.replaceAll(/\s+/g, ' ').split(`transient, integration Error: ${error}`)).toHaveLength(3)
})

it('colour only on a terminal, and not where NO_COLOR asks for none', async () => {
  const cwd = await filled()
  const args = ['dlq', 'list']
  const [coloured, asked, piped] = await Promise.all([
    onTerminal(120, args, cwd),
    onTerminal(120, args, cwd, { NO_COLOR: '1' }),
    startNode([join(import.meta.dirname, '../../src/cli/main.ts'), ...args], { cwd }).ended,
  ])
  expect(coloured.stdout).toMatch(COLOUR)
  expect(asked.stdout).not.toMatch(COLOUR)
  expect(piped.stdout).not.toMatch(COLOUR)
})

/** Two operations, of three letters; and one letter that was repaired twice. */
const worked = async (cwd: string): Promise<string> => {
  await using app = await reprieve({ transport: `sqlite:${join(cwd, 'reprieve.db')}`, office: false })
  const id = (n: number) => `0000000${n}-1111-4222-8333-444444444444`
  await app.office.operations.plan({ ids: [id(0)] }, {}, { as: 'ann' })
  const { operation } = await app.office.operations.plan({ ids: [id(1), id(2)] }, {}, { as: 'ann' })
  for (const value of [7, 8]) await app.office.repair([id(3)], { set: { '$.n': value } }, { as: 'ann' })
  return operation.id
}

it('--jsonl is one thing a line, and errors are JSON too', async () => {
  const cwd = await filled()
  const operation = await worked(cwd)
  const main = join(import.meta.dirname, '../../src/cli/main.ts')
  const lines = async (...args: string[]) =>
    (await startNode([main, ...args, '--jsonl'], { cwd }).ended).stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
  expect((await lines('dlq', 'list')).map(({ dlqId }) => dlqId)).toHaveLength(4)
  expect((await lines('dlq', 'groups')).map(({ open }) => open)).toEqual([1, 1, 1, 1])
  expect(await lines('audit', 'list', '--act', 'tend')).toMatchObject([{ act: 'tend' }])
  expect((await lines('dlq', 'operations')).map(({ counts }) => counts.waiting)).toEqual([2, 1])
  const items = await lines('dlq', 'operation', 'show', operation, '--items')
  expect(items.map(({ letter }) => letter.slice(0, 8)).sort()).toEqual(['00000001', '00000002'])
  expect((await lines('dlq', 'diff', '00000003')).map(({ version }) => version)).toEqual([1, 2])
  expect((await lines('dlq', 'alerts')).map(({ metric }) => metric)).toEqual(Array(4).fill('depth'))
  expect(await lines('dlq', 'stats')).toMatchObject([{ open: 4 }])
  const wrong = await startNode([main, 'dlq', 'show', 'nobody00', '--jsonl'], { cwd }).ended
  expect(JSON.parse(wrong.stderr)).toMatchObject({ error: { code: 'unknown_letter' } })
})
