// npm test [-- [--no-services] [arguments for vitest]]
//
// `npm run check`, real servers private to this run (they start meanwhile), every test, a closing table.
// A server that is not to be had skips its tests; where CI is set it is a failure.

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Outcome } from '../test/services/server.ts'
import { servers } from '../test/services/servers.ts'
import { openSession } from '../test/services/session.ts'
import { seconds, table } from '../test/services/table.ts'

interface Report {
  passed: number
  failed: number
  skipped: string[]
}

const root = join(import.meta.dirname, '..')
const args = process.argv.slice(2).filter((arg) => arg !== '--no-services')
const withServices = !process.argv.includes('--no-services')
const strict = !['', '0', 'false'].includes(process.env.CI ?? '')

const folder = mkdtempSync(join(tmpdir(), 'reprieve-test-'))
const reportFile = join(folder, 'report.json')
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
  const check = await run('npm', ['run', 'check'])
  const outcomes = interrupted ? [] : ((await session?.outcomes) ?? [])
  const vitest = interrupted
    ? 1
    : await run(process.execPath, vitestArgs(), { ...process.env, ...COMPILED, ...tell(outcomes) })
  // the trials have just been run on everything: the adapters' truth tables must say what they showed
  const whole = vitest === 0 && args.length === 0 && outcomes.length > 0 && outcomes.every(({ had }) => had)
  const tables = whole ? await run(process.execPath, ['test/trials/tables.ts', '--check']) : 0
  await session?.close()

  const report = interrupted ? { passed: 0, failed: 0, skipped: [] } : readReport()
  const missing = outcomes.filter(({ had }) => !had)
  show({ check, tests: vitest, 'truth tables': tables }, outcomes, report)
  if (interrupted) return 128 + constants.signals[interrupted]
  return check === 0 && vitest === 0 && tables === 0 && !(strict && missing.length > 0) ? 0 : 1
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

function vitestArgs(): string[] {
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
  return [vitest, 'run', '--reporter=default', '--reporter=json', `--outputFile.json=${reportFile}`, ...args]
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

/** A file that fails before its first test, or a vitest that leaves no report, counts as one failure. */
function readReport(): Report {
  type File = { status: string; assertionResults: { status: string; fullName: string }[] }
  let files: File[]
  try {
    files = (JSON.parse(readFileSync(reportFile, 'utf8')) as { testResults: File[] }).testResults
  } catch {
    return { passed: 0, failed: 1, skipped: [] }
  }
  const tests = files.flatMap((file) => file.assertionResults)
  const broken = files.filter(
    (file) => file.status === 'failed' && !file.assertionResults.some(({ status }) => status === 'failed'),
  )
  return {
    passed: tests.filter(({ status }) => status === 'passed').length,
    failed: tests.filter(({ status }) => status === 'failed').length + broken.length,
    skipped: tests
      .filter(({ status }) => status !== 'passed' && status !== 'failed')
      .map(({ fullName }) => fullName),
  }
}

function show(steps: Readonly<Record<string, number>>, outcomes: readonly Outcome[], report: Report): void {
  const verdict = (code: number) => (interrupted ? 'interrupted' : code === 0 ? 'ok' : `failed (${code})`)
  const results = Object.entries(steps).map(([name, code]) => [name, verdict(code)])
  console.log(`\n${table(['step', 'result'], results)}`)
  const rows = outcomes.map((outcome) =>
    outcome.had
      ? [outcome.name, outcome.version, outcome.how, seconds(outcome.readyMs)]
      : [outcome.name, '', `not had: ${outcome.reason}${strict ? ' (a failure in CI)' : ''}`],
  )
  if (!withServices) rows.push(...servers.map(({ name }) => [name, '', 'not asked for (--no-services)']))
  console.log(`\n${table(['service', 'version', 'how', 'ready in'], rows)}\n`)
  if (report.skipped.length > 0) console.log(`skipped:\n${byReason(report.skipped)}\n`)
  console.log(`${report.passed} passed, ${report.failed} failed, ${report.skipped.length} skipped`)
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
