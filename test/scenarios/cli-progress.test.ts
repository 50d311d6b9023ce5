import { spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { reprieve } from '../../src/index.ts'
import { cli, folderWith, root } from './child.ts'
import { someLetters } from './letters.ts'

/** `script` runs a command on a terminal of its own; both Linux dialects of it (util-linux) know these flags. */
const hasTerminal = spawnSync('script', ['-qec', 'true', '/dev/null']).status === 0

const MAIN = join(root, 'src/cli/main.ts')
const COUNT = 400
const CLEAR = '\r\u001b[2K'

/** What a terminal of 80 columns was sent. */
const onTerminal = (args: readonly string[], cwd: string): Promise<{ code: number | null; sent: string }> =>
  new Promise((resolve, reject) => {
    const quoted = [process.execPath, MAIN, ...args].map((arg) => `'${arg}'`).join(' ')
    const command = `stty cols 80 rows 24; exec ${quoted}`
    const child = spawn('script', ['-qec', command, '/dev/null'], {
      cwd,
      env: { PATH: process.env.PATH, HOME: process.env.HOME, TERM: 'xterm' },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let sent = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      sent += text
    })
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, sent }))
  })

/** What is left on the screen: of each line only what came after it was cleared last. */
const screenOf = (sent: string): readonly string[] =>
  sent
    .split('\r\n')
    .map((line) => line.slice(line.includes(CLEAR) ? line.lastIndexOf(CLEAR) + CLEAR.length : 0))
    .filter((line) => line !== '')

const barsOf = (sent: string): readonly string[] => sent.split(CLEAR).filter((each) => each.startsWith('['))

const withLetters = async (): Promise<string> => {
  const cwd = folderWith()
  const app = await reprieve({ transport: `sqlite:${join(cwd, 'reprieve.db')}` })
  await app.store.letters.keep(someLetters(COUNT))
  await app.close()
  return cwd
}

// skipped where no terminal can be had
describe.skipIf(!hasTerminal)('work on many letters that a terminal looks at', () => {
  it('shows a bar that moves, with counts, and leaves nothing of it', async () => {
    const cwd = await withLetters()
    const steps = [
      [['dlq', 'repair', '--service', 'mail-svc', '--set', '$.a=1'], 'repaired', /^400 repaired/],
      [['dlq', 'export', '--file', 'all.jsonl'], 'written', /^400 letters written$/],
      [['dlq', 'import', 'all.jsonl'], 'lines brought in', /^0 letters kept, 400 were here already$/],
      [['dlq', 'discard', '--service', 'mail-svc'], 'discarded', /^400 discarded$/],
    ] as const
    for (const [args, done, answer] of steps) {
      const { code, sent } = await onTerminal(args, cwd)
      expect(code, sent).toBe(0)
      const bars = barsOf(sent)
      expect(new Set(bars).size, sent).toBeGreaterThan(1)
      expect(bars.at(-1)).toMatch(new RegExp(`^\\[█{24}\\] 40[02] of 40[02] ${done}$`))
      expect(bars.every((each) => each.length < 80)).toBe(true)
      expect(screenOf(sent)).toHaveLength(1)
      expect(screenOf(sent)[0]).toMatch(answer)
      // nothing but this was ever asked of the terminal: no cursor hidden, no colour left on
      expect(sent.replaceAll(CLEAR, '').replaceAll(/\u001b\[\d+m/g, '')).not.toContain('\u001b')
    }
  })

  it('is not there where JSON is asked for', async () => {
    const cwd = await withLetters()
    const { sent } = await onTerminal(['dlq', 'export', '--file', 'all.jsonl', '--json'], cwd)
    expect(JSON.parse(sent)).toMatchObject({ count: COUNT })
  })
})

it('a bar is not there in pipes', async () => {
  const cwd = await withLetters()
  for (const args of [
    ['dlq', 'repair', '--service', 'mail-svc', '--set', '$.a=1'],
    ['dlq', 'export', '--file', 'all.jsonl'],
    ['dlq', 'import', 'all.jsonl'],
  ]) {
    const { stdout, stderr } = await cli(args, { cwd })
    expect(stdout + stderr).not.toMatch(/[\r█\u001b]/)
  }
})
