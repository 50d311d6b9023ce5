import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { expectGolden } from '../golden/golden.ts'
import { cli, folderWith, root } from './child.ts'

const TODO = join(root, 'examples/todo')

const render = (args: readonly string[], cwd: string) => cli(['rules', 'render', ...args], { cwd })

describe('reprieve rules render, the todo book', () => {
  it.for([
    ['todo/sheet.md', ['sheet', 'notification-svc', 'notification.dispatch.email']],
    ['todo/matrix.md', ['matrix']],
    ['todo/topology.txt', ['topology']],
    ['todo/topology.mmd', ['topology', '--format', 'mermaid']],
    ['todo/runbook.md', ['runbook']],
  ] as const)('%s is as it was reviewed', async ([file, args]) => {
    const { code, stdout, stderr } = await render(args, TODO)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expectGolden(file, stdout)
  })

  it('Dapr documents and what they lose are as they were reviewed', async () => {
    const out = join(folderWith(), 'dapr')
    const { code, stdout, stderr } = await render(['dapr', '--out', out], TODO)
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
    const files = readdirSync(out).sort()
    expect(files).toContain('resiliency.yaml')
    for (const file of files) {
      const text = readFileSync(join(out, file), 'utf8')
      expect(parseAllDocuments(text)).toHaveLength(1)
      expectGolden(`todo/dapr/${file}`, text)
    }
    const reviewed = readdirSync(join(root, 'test/golden/todo/dapr')).sort()
    expect(reviewed).toEqual([...files, 'warnings.txt'])
    const warnings = stderr.split('\n').filter((line) => line.startsWith('warning: '))
    expectGolden('todo/dapr/warnings.txt', `${warnings.join('\n')}\n`)
    expect(stderr).toContain(`wrote ${join(out, 'resiliency.yaml')}`)
  })

  it('every command in the runbook is one that the command line takes', async () => {
    const runbook = readFileSync(join(root, 'test/golden/todo/runbook.md'), 'utf8')
    const commands = [...runbook.matchAll(/^reprieve (.+)$/gm)].map(([, line]) => line!)
    expect(commands.length).toBeGreaterThan(5)
    const cwd = folderWith({ 'reprieve.yaml': readFileSync(join(TODO, 'reprieve.yaml'), 'utf8') })
    const kinds = new Set(commands.map((line) => line.replace(/--service \S+/, '--service a-svc')))
    for (const line of kinds) {
      const args = (line.match(/'[^']*'|\S+/g) ?? []).map((word) => word.replaceAll("'", ''))
      const { code, stderr } = await cli(args, { cwd })
      // 2 would be: used wrongly
      expect([0, 1], `${line}: ${stderr}`).toContain(code)
    }
  })
})

const HOSTILE = `version: 1
services:
  mail-svc:
    events:
      'a|b\`c<img/src=x>"]': 
        overrides:
          - { match: { message: "x | y" }, category: permanent, reason: "one\\n| two |\\n<script>" }
        alerts: { inflow: { above: 1, action: "\\e[31m| red" } }
dapr:
  components: { pubsub: { inbound: { policy: standard } } }
`

describe('reprieve rules render', () => {
  it('words of the book stay words, on paper and on the terminal', async () => {
    const cwd = folderWith({ 'reprieve.yaml': HOSTILE })
    for (const kind of ['sheet', 'matrix', 'topology', 'runbook', 'dapr']) {
      const { code, stdout, stderr } = await render([kind], cwd)
      expect(code).toBe(0)
      expect(stdout + stderr).not.toContain('\u001b[31m|')
      if (kind === 'topology' || kind === 'dapr' || kind === 'matrix') continue
      expect(stdout).not.toMatch(/<(script|img)/)
      expect(stdout).toContain('&#124; red')
      for (const table of stdout.match(/(^\|.*\n)+/gm) ?? []) {
        const pipes = table
          .trimEnd()
          .split('\n')
          .map((row) => row.match(/\|/g)?.length)
        expect(new Set(pipes).size, table).toBe(1)
      }
    }
  })

  it('answers programs in JSON, warnings included', async () => {
    const cwd = folderWith({ 'reprieve.yaml': HOSTILE })
    const json = async (...args: string[]) => JSON.parse((await render([...args, '--json'], cwd)).stdout)
    expect(await json('matrix')).toMatchObject([
      { service: 'mail-svc', policy: 'standard', timeoutMs: 15_000, destination: '_mail-svc.deadletter' },
    ])
    expect(await json('sheet', 'mail-svc', 'x')).toMatchObject({ event: 'x', policy: { maxRetries: 5 } })
    expect(await json('topology')).toMatchObject({ doors: [{ service: 'mail-svc', events: [{}] }] })
    expect((await json('runbook')).runbook).toMatch(/^# Runbook\n/)
    const dapr = await json('dapr')
    expect(dapr.files).toHaveLength(2)
    expect(dapr.losses).toContainEqual(expect.objectContaining({ lost: 'Retry-After' }))
  })

  it('prints one document, and names the losses beside it', async () => {
    const cwd = folderWith({ 'reprieve.yaml': HOSTILE })
    const { stdout, stderr } = await render(['dapr', '--exact'], cwd)
    expect(parseAllDocuments(stdout)).toHaveLength(1)
    expect(stdout).toContain('duration: 4650ms')
    expect(stderr).toMatch(/^warning: retries loses Retry-After: /m)
    expect(stderr).toContain('and 1 subscription: --out <folder> writes all, a file each')
    const file = join(cwd, 'deep/r.yaml')
    expect((await render(['dapr', '--out', file], cwd)).stderr).toContain(`wrote ${file}`)
    expect(readFileSync(file, 'utf8')).toContain('kind: Resiliency')
  })

  it.for([
    [['posters'], "nothing is rendered as 'posters'"],
    [['grafana'], "grafana can't be rendered yet"],
    [['sheet', 'mail-svx'], "the rule book names no service 'mail-svx'"],
    [['matrix', '--format', 'mermaid'], '--format is for topology'],
    [['sheet', '--exact'], '--exact is for dapr'],
    [['runbook', 'mail-svc', 'x'], 'runbook is for a service or for all'],
    [['matrix', '--out', '.'], "'.' can't be written"],
  ] as const)('%j is used wrongly', async ([args, message]) => {
    const cwd = folderWith({ 'reprieve.yaml': HOSTILE })
    const { code, stdout, stderr } = await render(args, cwd)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
    if (args[0] === 'posters')
      expect(stderr).toContain('one of sheet, matrix, topology, runbook, dapr (not yet: prometheus, grafana)')
  })
})
