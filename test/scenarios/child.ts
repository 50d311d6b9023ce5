import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

/** The command line as a user has it: another process, in a folder of its own. */

export const root = fileURLToPath(new URL('../..', import.meta.url))
const PATIENCE = 100_000
const MAIN = join(root, 'src/cli/main.ts')

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Settings {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string
}

/** A folder that is gone after the test, with these files in it. */
export const folderWith = (files: Readonly<Record<string, string>> = {}): string => {
  const folder = mkdtempSync(join(tmpdir(), 'reprieve-cli-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}

export interface Running {
  readonly ended: Promise<Ended>
  /** Resolves when stdout holds the text; rejects where the process ends before. */
  said(text: string): Promise<void>
  /** The same of stderr. */
  remarked(text: string): Promise<void>
  /** What stdout holds now. */
  soFar(): string
  signal(name: NodeJS.Signals): void
}

export const startNode = (args: readonly string[], { cwd, env, input }: Settings): Running => {
  const child = spawn(process.execPath, args, {
    cwd,
    env: { ...cleanEnv(), ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  endWithTest(child)
  child.stdin.on('error', () => {})
  child.stdin.end(input ?? '')
  let stdout = ''
  let stderr = ''
  const look: (() => void)[] = []
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
    for (const each of look) each()
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
    for (const each of look) each()
  })
  const waitFor = (text: string, soFar: () => string): Promise<void> =>
    new Promise((resolve, reject) => {
      const check = () => soFar().includes(text) && resolve()
      look.push(check)
      check()
      const never = () => reject(new Error(`it never said '${text}':\n${stdout}${stderr}`))
      setTimeout(never, PATIENCE).unref()
      void ended.then(never)
    })
  const ended = new Promise<Ended>((resolve) => {
    child.on('close', (code) => resolve({ code, stdout, stderr }))
  })
  return {
    ended,
    said: (text) => waitFor(text, () => stdout),
    remarked: (text) => waitFor(text, () => stderr),
    soFar: () => stdout,
    signal: (name) => child.kill(name),
  }
}

/** Neither the rule book nor the brokers of whoever runs the tests. */
const cleanEnv = (): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(REPRIEVE_|NO_COLOR|FORCE_COLOR|NODE_OPTIONS|CI$)/.test(name),
    ),
  )

const endWithTest = (child: ChildProcess): void =>
  onTestFinished(() => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
  })

export const startCli = (args: readonly string[], settings: Settings): Running =>
  startNode([MAIN, ...args], settings)

export const cli = (args: readonly string[], settings: Settings): Promise<Ended> =>
  startCli(args, settings).ended

/** A service that does what the data asks for; what is bad is well again once the file `mended` is there. */
const HANDLERS = `import { existsSync } from 'node:fs'
export default (app: any) => {
  app.service('mail-svc').on('task.created', async ({ data }: any, ctx: any) => {
    if (data.bad && !existsSync('mended')) throw Object.assign(new Error(data.bad), { status: 422 })
    if (data.flaky && ctx.attempt === 1) throw Object.assign(new Error('busy'), { code: 'ECONNRESET' })
    if (data.slow) ctx.log('began ' + data.slow + ', attempt ' + ctx.attempt)
    if (data.slow) await new Promise((resolve) => setTimeout(resolve, data.slow))
  })
}
`
const RULES = `version: 1
policies:
  quick: { backoff: fixed, delay: 50ms, jitter: none, retries: 2 }
services:
  mail-svc:
    policy: quick
`

/** A folder with handlers and a rule book, under names that nothing else on a broker has. */
export const project = (service = 'mail-svc', type = 'task.created'): string => {
  const named = (text: string) => text.replaceAll('mail-svc', service).replaceAll('task.created', type)
  return folderWith({ 'handlers.ts': named(HANDLERS), 'reprieve.yaml': named(RULES) })
}
