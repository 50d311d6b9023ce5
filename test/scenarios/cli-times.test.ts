import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { expect, it } from 'vitest'
import { createProgram } from '../../src/cli/program.ts'
import { reprieve } from '../../src/index.ts'
import { cli, type Ended, project, type Running, startCli } from './child.ts'
import { someLetters } from './letters.ts'

/** A moment in milliseconds, whatever it is called: from 2001 to 2096. */
const isMoment = (value: unknown): boolean => typeof value === 'number' && value > 1e12 && value < 4e12
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const NAMED = /^(at|since|until|expires|oldest)$|(At|Since|Until)$/

const letters = someLetters(12).map((letter) => ({ ...letter, fingerprint: 'f1-00d' }))
const id = (n: number): string => letters[n]!.id
const BY = ['--as', 'ann', '--reason', 'asked for']
const GROUP = 'f1-'

/** Every command, in an order in which each finds something to tell of. */
const COMMANDS: readonly (readonly [name: string, ...args: string[]])[] = [
  ['run', 'handlers.ts'],
  ['publish', 'task.created', '{"bad":"no such address"}'],
  ['dlq groups'],
  ['dlq stats'],
  ['dlq list'],
  ['dlq tend', GROUP, '--owner', 'ann', '--snooze', '2h', '--as', 'ann'],
  ['dlq edit', id(0), '--set', '$.n=1', ...BY],
  ['dlq diff', id(0)],
  ['dlq show', id(0)],
  ['dlq show', GROUP],
  ['dlq replay', id(1), '--as', 'ann'],
  ['dlq replay', '--service', 'mail-svc', '--from', '2020-01-01', '--dry-run', '--as', 'ann'],
  ['dlq operations'],
  ['dlq operation show', 'first', '--items'],
  ['dlq operation approve', 'first', '--as', 'bob'],
  ['dlq operation pause', 'first', '--as', 'ann'],
  ['dlq operation resume', 'first', '--as', 'ann'],
  ['dlq operation cancel', 'first', '--as', 'ann'],
  ['dlq operation watch', 'first'],
  ['dlq approve', 'second', '--as', 'bob'],
  ['dlq purge', id(2), ...BY],
  ['dlq discard', '--from', '2020-01-01', '--service', 'mail-svc', ...BY],
  ['dlq restore', id(4), ...BY],
  ['dlq release', id(4), ...BY],
  ['dlq resolve', id(5), ...BY],
  ['dlq export', '--file', 'letters.jsonl', ...BY],
  ['dlq import', 'letters.jsonl', ...BY],
  ['pause', 'mail-svc', ...BY],
  ['resume', 'mail-svc', ...BY],
  ['breaker open', 'crm', ...BY],
  ['breaker list'],
  ['breaker close', 'crm', ...BY],
  ['breaker release', 'crm', ...BY],
  ['audit list'],
  ['audit verify'],
  ['rules explain', 'mail-svc', 'task.created'],
  ['rules lint'],
  ['rules render', 'matrix'],
  ['rules schema'],
  ['doctor'],
  ['trials', 'memory:', '--only', 'forward keeps'],
  ['demo', '--for', '1s'],
  // it looks within a minute
  ['serve'],
  ['dlq stats', '--history'],
  ['dlq alerts', '--all'],
]

/** What these answer with has no moment in it. */
const TIMELESS: ReadonlySet<string> = new Set([
  ...[
    'publish',
    'dlq edit',
    'dlq discard',
    'dlq restore',
    'dlq release',
    'dlq resolve',
    'dlq export',
    'dlq import',
  ],
  ...['resume', 'breaker release', 'audit verify', 'doctor', 'trials'],
  ...['rules explain', 'rules lint', 'rules render', 'rules schema'],
])

const leavesOf = (command: Command, path: readonly string[] = []): readonly string[] =>
  command.commands.length === 0
    ? [path.join(' ')]
    : command.commands.flatMap((each) => leavesOf(each, [...path, each.name()]))

/** How many moments it tells; throws where one is not told as all are. */
const timesIn = (value: unknown, name = '', where = ''): number => {
  if (isMoment(value)) throw new Error(`${where} is ${value}`)
  if (typeof value === 'string' && NAMED.test(name)) {
    if (!ISO.test(value)) throw new Error(`${where} is '${value}'`)
    return 1
  }
  if (value === null || typeof value !== 'object') return 0
  return Object.entries(value).reduce(
    (sum, [key, each]) => sum + timesIn(each, Array.isArray(value) ? name : key, `${where}.${key}`),
    0,
  )
}

/** Letters, a look at them by the watch, and two operations that need approval. */
const prepare = async (cwd: string): Promise<ReadonlyMap<string, string>> => {
  const app = await reprieve({
    transport: `sqlite:${join(cwd, 'reprieve.db')}`,
    rules: join(cwd, 'reprieve.yaml'),
  })
  await app.store.letters.keep(letters)
  const plan = (...which: number[]) => app.office.operations.plan({ ids: which.map(id) }, {}, { as: 'ann' })
  const [first, second] = [await plan(6, 7), await plan(8, 9)]
  await app.close()
  return new Map([
    ['first', first.operation.id],
    ['second', second.operation.id],
  ])
}

it('every command that answers in JSON tells every moment in ISO 8601', async () => {
  expect(new Set(COMMANDS.map(([name]) => name))).toEqual(new Set(leavesOf(createProgram())))
  const cwd = project()
  appendFileSync(join(cwd, 'reprieve.yaml'), 'operations: { approval: { above: 1 } }\n')
  const operations = await prepare(cwd)
  const serving = startCli(['serve', '--json'], { cwd })
  const told = new Map<string, number>()
  for (const [name, ...args] of COMMANDS) {
    const typed = [...name.split(' '), ...args.map((arg) => operations.get(arg) ?? arg), '--json']
    const { stdout, stderr } = await (name === 'serve'
      ? leaving(serving, '"watch"')
      : name === 'run'
        ? leaving(startCli(typed, { cwd }), '\n')
        : cli(typed, { cwd }))
    const answer =
      name === 'rules schema'
        ? JSON.parse(stdout)
        : stdout
            .split('\n')
            .filter(Boolean)
            .map((line) => JSON.parse(line))
    const times = timesIn(answer, '', name)
    told.set(name, (told.get(name) ?? 0) + times)
    expect(stdout, `${name}: ${stderr}`).not.toBe('')
  }
  expect([...told].filter(([name, times]) => (times === 0) !== TIMELESS.has(name))).toEqual([])
})

/** When it has said so it is asked to leave. */
const leaving = async (running: Running, word: string): Promise<Ended> => {
  await running.said(word)
  running.signal('SIGTERM')
  return running.ended
}
