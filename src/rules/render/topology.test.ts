import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { buildBook } from '../book.ts'
import { readRules } from '../load.ts'
import { topologyMermaid } from './mermaid.ts'
import { topologyOf, topologyText } from './topology.ts'

const book = readRules(
  `version: 1
topics:
  todo.tasks: { types: ['todo.task.*'], retention: 7d }
policies:
  never: { extends: none }
services:
  mail-svc:
    consumerGroup: mailers
    events:
      todo.task.created: { deadLetter: { expire: 24h } }
      todo.task.deleted: { policy: aggressive, channel: sms }
      audit.entry: { policy: never }
`,
  'r.yaml',
  {},
)

describe('topology', () => {
  it('has a door for each service and topic, with all rows behind it', () => {
    const { doors, topics } = topologyOf(book)
    expect(doors.map(({ topic, queue, consumerGroup }) => [topic, queue, consumerGroup])).toEqual([
      ['todo.tasks', 'mail-svc.todo.tasks', 'mailers'],
      ['audit.entry', 'mail-svc.audit.entry', 'mailers'],
    ])
    expect(doors[0]!.rows.map(({ event }) => event)).toEqual(['todo.task.created', 'todo.task.deleted'])
    expect(topics).toEqual([{ name: 'todo.tasks', retention: 604_800_000 }, { name: 'audit.entry' }])
  })

  it('knows every destination once, and when the broker drops what lies there', () => {
    const { destinations } = topologyOf(book)
    expect(destinations.map(({ name, is, expire }) => [name, is, expire])).toEqual([
      ['_mail-svc.deadletter', 'dead letters', 86_400_000],
      ['_mail-svc.deadletter.quarantine', 'quarantine', undefined],
      ['_mail-svc.deadletter.sms', 'dead letters', undefined],
      ['_mail-svc.deadletter.sms.quarantine', 'quarantine', undefined],
    ])
  })

  it('is told as text, retries and burials of each event', () => {
    const text = topologyText(topologyOf(book))
    expect(text).toContain('todo.tasks → mail-svc  (consumer group mailers, queue mail-svc.todo.tasks)')
    expect(text).toContain('fails    → waits by policy aggressive (3 retries within 15s) → mail-svc again')
    expect(text).toMatch(/audit\.entry\n +fails +→ buried at once/)
  })
})

/** What Mermaid takes of a flowchart, as far as ours goes: ids of ours, labels in quotes. */
const LABEL = String.raw`"(?:[A-Za-z0-9 .,:/+=()_-]|#\d+;)*"`
const NODE = String.raw`(?:\(\[${LABEL}\]\)|\[${LABEL}\]|\[\(${LABEL}\)\]|\{\{${LABEL}\}\}|\(\(office\)\))`
const EDGE = String.raw`(?: (?:-->|-\.->)(?:\|[a-z]+\|)? [a-z]+[0-9x]*)+`
const LINE = new RegExp(`^  [a-z]+[0-9x]*(?:${NODE}|${EDGE})$`)

describe('topology in Mermaid', () => {
  it('is a flowchart from topics to services, to dead letters and back', () => {
    const lines = topologyMermaid(topologyOf(book)).trimEnd().split('\n')
    expect(lines[0]).toBe('flowchart LR')
    expect(lines).toContain('  topic1 --> door1')
    expect(lines).toContain('  wait1x2{{"aggressive: 3 retries within 15s"}}')
    expect(lines).toContain('  door1 -->|retry| wait1x2 --> door1')
    expect(lines).toContain('  letters1[("_mail-svc.deadletter")]')
    expect(lines).toContain('  door2 -->|poison| letters2')
    expect(lines.filter((line) => line.includes('wait2'))).toEqual([])
    for (const line of lines.slice(1)) expect(line).toMatch(LINE)
  })

  it('holds whatever events are called', () => {
    const name = fc.string({ minLength: 1, maxLength: 20 }).filter((text) => !/[\s*]/.test(text))
    const hostile = fc.constantFrom('a"]-->b', 'x;end', '`|`', '<b>', '%%{init:{}}%%', '#quot;')
    fc.assert(
      fc.property(fc.oneof(name, hostile), (event) => {
        const events = Object.fromEntries([[event, {}]])
        const drawn = topologyMermaid(topologyOf(buildBook({ services: { s: { events } } })))
        for (const line of drawn.trimEnd().split('\n').slice(1)) expect(line).toMatch(LINE)
      }),
    )
  })
})
