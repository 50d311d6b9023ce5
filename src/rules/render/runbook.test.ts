import { describe, expect, it } from 'vitest'
import { emptyBook } from '../book.ts'
import { readRules } from '../load.ts'
import { renderRunbook } from './runbook.ts'

const book = readRules(
  `version: 1
services:
  mail-svc:
    deadLetter: { reprocessing: automatic }
    events:
      task.created: {}
      task.deleted: { policy: patient, poison: off }
  audit-svc:
    poison: { failures: 5, within: 10m, categories: [unknown, permanent], crashes: 2 }
    alerts: { inflow: { above: 2, severity: warning, action: look }, lag: off }
`,
  'r.yaml',
  {},
)
const page = renderRunbook(book)
const lines = page.split('\n')
const rows = lines.map((line) =>
  line
    .split('|')
    .map((cell) => cell.trim())
    .slice(1, -1),
)

describe('the runbook', () => {
  it('has the five documents, in this order', () => {
    expect(lines.filter((line) => line.startsWith('## '))).toEqual([
      '## Topology',
      '## Retry policies',
      '## Dashboard',
      '## Replay',
      '## Poison',
    ])
    expect(page).toContain('```mermaid\nflowchart LR\n')
  })

  it('tells of each policy in use how it waits, how often, and how long in all', () => {
    const patient = 'exponential from 2s, × 2, at most 1m, jitter half'
    expect(rows).toContainEqual([
      '`patient`',
      patient,
      '8',
      '9',
      '15m',
      '3m 3s, 3m 34s, 4m 2s',
      '`mail-svc` (`task.deleted`)',
    ])
    expect(page).not.toContain('`aggressive`')
  })

  it('has a panel for each metric, and a row for each threshold', () => {
    const shown = ['letters buried in a minute', 'bars per destination']
    const action = 'Call who is on duty; look downstream'
    expect(rows).toContainEqual([
      'dead letters arriving',
      ...shown,
      '> 10 a minute',
      'critical',
      '`mail-svc`',
      action,
    ])
    expect(rows).toContainEqual([
      'dead letters arriving',
      ...shown,
      '> 2 a minute',
      'warning',
      '`audit-svc`',
      'look',
    ])
    expect(lines.filter((line) => line.startsWith('| consumer lag'))).toHaveLength(1)
  })

  it('says how to replay, and what a schedule is to run where the book asks for it', () => {
    expect(lines).toContain('reprieve dlq list --service audit-svc')
    expect(lines).toContain('reprieve dlq replay --service mail-svc --category transient')
    expect(lines).not.toContain('reprieve dlq replay --service audit-svc --category transient')
  })

  it('has the poison rules and their quarantine', () => {
    expect(rows).toContainEqual([
      '5 times within 10m',
      'unknown, permanent',
      '2 crashes',
      '`_audit-svc.deadletter.quarantine`',
      '`audit-svc`',
    ])
    expect(lines).toContainEqual(expect.stringMatching(/^\| not looked for .*`mail-svc` \(`task.deleted`\)/))
  })

  it('of a book without services says so', () => {
    expect(renderRunbook(emptyBook)).toContain('The rule book names no service.')
  })
})
