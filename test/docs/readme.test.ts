import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { root } from '../architecture/source.ts'

/** Every block of the README that can be run is run, as it stands there. */
const blocks = [
  ...readFileSync(join(root, 'README.md'), 'utf8').matchAll(/^```(\w+)(?: (\S+))?\n([\s\S]*?)^```$/gm),
].map(([, language, name, text]) => ({ language, name, text: text! }))
const block = (name: string): string => {
  const found = blocks.find((each) => each.name === name)
  if (!found) throw new Error(`README has no block '${name}'`)
  return found.text
}

// inside the project, so that `reprieve` is the package itself
mkdirSync(join(root, '.tmp'), { recursive: true })
const folder = mkdtempSync(join(root, '.tmp/readme-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
for (const name of ['reprieve.yaml', 'consumer.ts', 'app.ts']) writeFileSync(join(folder, name), block(name))

const NODE = ['--conditions=source', '--disable-warning=ExperimentalWarning']
/** `npx reprieve …` as words, quotes taken off. */
const words = (line: string): string[] =>
  [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!)
const cli = (line: string): string[] => [...NODE, join(root, 'src/cli/main.ts'), ...words(line).slice(2)]
const run = (args: readonly string[]): string =>
  execFileSync(process.execPath, args, {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })

describe('README', () => {
  it('shows a library program that runs', () => {
    expect(run([...NODE, 'app.ts'])).toBe('hello world, attempt 2\n')
  })

  it('shows a consumer and commands that work, line by line', async () => {
    const consumer = spawn(process.execPath, cli(block('run')), {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let out = ''
    consumer.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      out += chunk
    })
    const said = async (text: string) => {
      while (!out.includes(text)) await once(consumer.stdout, 'data')
    }
    try {
      await said('notification-svc')
      const commands = blocks
        .find(({ text }) => text.startsWith('npx reprieve publish'))!
        .text.trim()
        .split('\n')
      const [publish, publishBad, list, replay, explain] = commands as [
        string,
        string,
        string,
        string,
        string,
      ]
      run(cli(publish))
      await said('mail to ann@example.org, attempt 1')
      run(cli(publishBad))
      await said('dead')
      expect(run(cli(list))).toMatch(/notification-svc.*permanent/s)
      const replayed = spawnSync(process.execPath, cli(replay), { cwd: folder, encoding: 'utf8' })
      expect(replayed.stdout).toMatch(/dead again/)
      expect(replayed.status).toBe(1)
      expect(run(cli(explain))).toMatch(/standard[\s\S]*reprieve\.yaml:5/)
    } finally {
      const gone = once(consumer, 'exit')
      consumer.kill('SIGTERM')
      expect(await gone).toEqual([0, null])
    }
  })

  it('shows questions that the rule book answers', () => {
    const [explain, lint, render, schema] = block('ask')
      .trim()
      .split('\n')
      .map((line) => run(cli(line.replace(/#.*/, ''))))
    expect(explain).toMatch(/critical/)
    expect(lint).toMatch(/nothing to mend/)
    expect(render).toMatch(/`todo\.reminder\.\*`/)
    expect(JSON.parse(schema!)).toHaveProperty('properties.services')
  })

  it('names commands that package.json has', () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>
    }
    expect(Object.keys(scripts)).toEqual(expect.arrayContaining(['start', 'test']))
    expect(readFileSync(join(root, '.ci/run'), 'utf8')).toContain('npm ci && npm test')
  })
})
