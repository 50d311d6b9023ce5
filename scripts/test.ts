// npm test [-- [--no-services] [arguments for vitest]]
//
// `npm run check`, real servers private to this run (they start meanwhile), every test, a closing table.
// A server that is not to be had skips its tests; where CI is set it is a failure. Tests that fail are run once more by
// themselves, and told even if they pass then (see test/run/second-look.ts for those that are not).

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { type SecondLook, secondLook, worthASecondLook } from '../test/run/second-look.ts'
import { TOLD_IN, type Told, testsThat } from '../test/run/told.ts'
import { tookOf } from '../test/run/took.ts'
import type { Outcome } from '../test/services/server.ts'
import { servers } from '../test/services/servers.ts'
import { openSession } from '../test/services/session.ts'
import { seconds, table } from '../test/services/table.ts'

const root = join(import.meta.dirname, '..')
const args = process.argv.slice(2).filter((arg) => arg !== '--no-services')
const withServices = !process.argv.includes('--no-services')
const strict = !['', '0', 'false'].includes(process.env.CI ?? '')

const folder = mkdtempSync(join(tmpdir(), 'reprieve-test-'))
/** Hundreds of processes are started by tests, and compile the same sources: so it is done once. */
const COMPILED = { NODE_COMPILE_CACHE: join(folder, 'compiled') }
const session = withServices ? openSession(servers) : undefined

let step: ChildProcess | undefined
let interrupted: 'SIGINT' | 'SIGTERM' | undefined
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    interrupted = signal
    endStep()
    void session?.close()
  })
}

try {
  process.exitCode = await test()
} finally {
  await session?.close()
  rmSync(folder, { recursive: true, force: true })
}

async function test(): Promise<number> {
  const began = performance.now()
  const check = await run('npm', ['run', 'check'])
  const checked = performance.now() - began
  const outcomes = interrupted ? [] : ((await session?.outcomes) ?? [])
  const first = await vitest(args, outcomes)
  const suspicious = first.told && args.length === 0 ? worthASecondLook(first.told) : []
  const second = suspicious.length > 0 ? await vitest(['--maxWorkers=1', ...suspicious], outcomes) : undefined
  const looks = first.told && second?.told ? secondLook(first.told, second.told) : []
  const excused = second?.code === 0 && looks.every(({ passed }) => passed)
  const tests = excused ? 0 : first.code
  // the trials have just been run on everything: the adapters' truth tables must say what they showed
  const whole = tests === 0 && args.length === 0 && outcomes.length > 0 && outcomes.every(({ had }) => had)
  const tables = whole ? await run(process.execPath, ['test/trials/tables.ts', '--check']) : 0
  await session?.close()

  const missing = outcomes.filter(({ had }) => !had)
  show({ check, tests, 'truth tables': tables }, checked, outcomes, first.told, looks)
  if (interrupted) return 128 + constants.signals[interrupted]
  return check === 0 && tests === 0 && tables === 0 && !(strict && missing.length > 0) ? 0 : 1
}

/** What it told is missing where it was interrupted, or failed before the first file. */
async function vitest(
  args: readonly string[],
  outcomes: readonly Outcome[],
): Promise<{ readonly code: number; readonly told?: Told }> {
  if (interrupted) return { code: 1 }
  const file = join(folder, 'told.json')
  rmSync(file, { force: true })
  const program = join(root, 'node_modules', 'vitest', 'vitest.mjs')
  const env = { ...process.env, ...COMPILED, ...tell(outcomes), [TOLD_IN]: file }
  const reporters = ['--reporter=default', '--reporter=./test/run/reporter.ts']
  const code = await run(process.execPath, [program, 'run', ...reporters, ...args], env)
  if (interrupted || !existsSync(file)) return { code: code || 1 }
  return { code, told: JSON.parse(readFileSync(file, 'utf8')) as Told }
}

/** In a process group of its own: a signal to us is passed on to all of it, and only after we have noted it. */
function run(command: string, args: readonly string[], env = process.env): Promise<number> {
  return new Promise((resolve) => {
    step = spawn(command, args, { cwd: root, env, detached: true, stdio: ['ignore', 'inherit', 'inherit'] })
    step.on('error', (error) => {
      console.error(`${command}: ${error.message}`)
      resolve(1)
    })
    step.on('close', (code) => resolve(code ?? 1))
    if (interrupted) endStep()
  })
}

function endStep(): void {
  if (step?.pid === undefined || step.exitCode !== null || step.signalCode !== null) return
  process.kill(-step.pid, 'SIGTERM')
}

/** What the tests learn of the servers: where each is, or why it is not (see test/services/urls.ts). */
function tell(outcomes: readonly Outcome[]): NodeJS.ProcessEnv {
  const told: NodeJS.ProcessEnv = {}
  for (const outcome of outcomes) {
    told[outcome.env] = outcome.had ? outcome.url : ''
    told[`${outcome.env}_NOT_HAD`] = outcome.had ? '' : outcome.reason
  }
  return told
}

function show(
  steps: Readonly<Record<string, number>>,
  checked: number,
  outcomes: readonly Outcome[],
  told: Told | undefined,
  looks: readonly SecondLook[],
): void {
  const verdict = (code: number) => (interrupted ? 'interrupted' : code === 0 ? 'ok' : `failed (${code})`)
  const results = Object.entries(steps).map(([name, code]) => [
    name,
    verdict(code),
    name === 'check' ? tookOf(checked) : '',
  ])
  console.log(`\n${table(['step', 'result', 'took'], results)}`)
  const rows = outcomes.map((outcome) =>
    outcome.had
      ? [outcome.name, outcome.version, outcome.how, seconds(outcome.readyMs)]
      : [outcome.name, '', `not had: ${outcome.reason}${strict ? ' (a failure in CI)' : ''}`],
  )
  if (!withServices) rows.push(...servers.map(({ name }) => [name, '', 'not asked for (--no-services)']))
  console.log(`\n${table(['service', 'version', 'how', 'ready in'], rows)}\n`)
  if (!told) return
  const skipped = [...testsThat(told, 'skipped'), ...testsThat(told, 'pending')]
  if (skipped.length > 0) console.log(`skipped:\n${byReason(skipped)}\n`)
  const seen = looks.map(({ test, passed }) => [test, passed ? 'failed, then passed alone' : 'failed twice'])
  if (seen.length > 0) console.log(`${table(['looked at twice', 'result'], seen)}\n`)
  const failed = testsThat(told, 'failed').length
  // a file that fails before its first test counts as one
  const broken = told.files.filter((file) => file.failed && !file.tests.some(({ is }) => is === 'failed'))
  const stray = told.unhandled > 0 ? `, ${told.unhandled} errors outside of tests` : ''
  const passed = testsThat(told, 'passed').length
  console.log(`${passed} passed, ${failed + broken.length} failed, ${skipped.length} skipped${stray}`)
}

/** Many are skipped for one reason: it is told once, with their number and the first of them. */
function byReason(skipped: readonly string[]): string {
  const groups = Map.groupBy(skipped, (name) => /\(skipped: (.*)\)/.exec(name)?.[1] ?? 'no reason given')
  return [...groups]
    .map(([reason, names]) => {
      const others = names.length > 1 ? ` and ${names.length - 1} more` : ''
      return `  ${reason}: ${names[0]!.replace(/ \(skipped: .*\)/, '')}${others}`
    })
    .join('\n')
}
