import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { POLICIES } from '../../src/core/policy.ts'
import { emptyBook, readRules, rulesFor, serviceRules } from '../../src/rules/index.ts'
import { root } from '../architecture/source.ts'

const page = readFileSync(join(root, 'docs/rule-book.md'), 'utf8')
const books = [...page.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, text]) => text!)

describe('docs/rule-book.md', () => {
  it('shows books that load', () => {
    expect(books).toHaveLength(2)
    for (const text of books) expect(() => readRules(text, 'reprieve.yaml', {})).not.toThrow()
  })

  it('shows what it says it shows', () => {
    const [first, second] = books.map((text) => readRules(text, 'reprieve.yaml', { WORKERS: '3' })) as [
      typeof emptyBook,
      typeof emptyBook,
    ]
    expect(rulesFor(first, 'notification-svc', 'todo.task.created')).toMatchObject({
      topic: 'todo.tasks',
      timeout: 20_000,
      policy: { name: 'gentle', retries: 5, window: 600_000 },
      overrides: [{ match: { status: 404 }, category: 'transient' }],
    })
    expect(rulesFor(first, 'notification-svc', 'todo.reminder.fired')).toMatchObject({
      policy: POLICIES.critical,
      deadLetter: { expire: 24 * 3_600_000 },
    })
    expect(rulesFor(first, 'notification-svc', 'notification.dispatch.email').deadLetter.destination).toBe(
      '_notification-svc.deadletter.email',
    )
    expect(serviceRules(first, 'notification-svc').concurrency).toBe(3)
    expect(rulesFor(second, 'mail', 'task.created').deadLetter).toMatchObject({
      destination: 'mail.task.created.dlq',
      quarantine: 'mail.task.created.dlq.quarantine',
    })
  })

  it('tells the defaults as they are', () => {
    expect(rulesFor(emptyBook, 'any-svc', 'any.event')).toMatchObject({
      policy: POLICIES.standard,
      timeout: 15_000,
      idempotency: { pattern: 'dedup', ttl: 7 * 24 * 3_600_000, key: 'id' },
      deadLetter: { destination: '_any-svc.deadletter' },
    })
  })

  it('shows an error as it is', () => {
    const shown = /^```text\n(.*)\n```$/m.exec(page)![1]!
    let message = ''
    try {
      readRules('version: 1\nservices:\n  mail:\n    policy: standrad\n', 'reprieve.yaml', {})
    } catch (error) {
      message = (error as Error).message
    }
    expect(message).toContain(shown)
  })
})
