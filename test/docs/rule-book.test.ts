import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { delayOf } from '../../src/core/backoff.ts'
import { KINDS } from '../../src/core/failure.ts'
import { POLICIES } from '../../src/core/policy.ts'
import {
  emptyBook,
  jsonSchema,
  type PolicyFor,
  readRules,
  rulesFor,
  serviceRules,
  withPolicyFor,
} from '../../src/rules/index.ts'
import { root } from '../architecture/source.ts'

const page = readFileSync(join(root, 'docs/rule-book.md'), 'utf8')
const books = [...page.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, text]) => text!)

const read = (text: string, env: Record<string, string> = {}) =>
  readRules(text, 'reprieve.yaml', env, () => ({ file: 'base.yaml', text: books[0]! }))

/** The book on the page that holds this. */
const bookWith = (text: string, env?: Record<string, string>) =>
  read(books.find((each) => each.includes(text))!, env)

describe('docs/rule-book.md', () => {
  it('shows books that load', () => {
    expect(books).toHaveLength(8)
    for (const text of books) expect(() => read(text)).not.toThrow()
  })

  it('shows what it says it shows', () => {
    const first = bookWith('todo.task.created:', { WORKERS: '3' })
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
    expect(rulesFor(bookWith('{queue}.dlq'), 'mail', 'task.created').deadLetter).toMatchObject({
      destination: 'mail.task.created.dlq',
      quarantine: 'mail.task.created.dlq.quarantine.{kind}',
    })
    for (const kind of KINDS) expect(page).toMatch(new RegExp(`\\{kind\\}: .*\\b${kind}\\b`))
  })

  it('shows policies that wait as it says', () => {
    const { policies } = bookWith('by-quota')
    const waits = (name: string) => {
      const { backoff, retries } = policies.get(name)!
      return Array.from({ length: retries }, (_, index) => delayOf(backoff, index + 1, () => 0.5))
    }
    expect(waits('by-quota')).toEqual([10_000, 20_000, 30_000, 40_000])
    expect(waits('doubled')).toEqual([200, 400, 800])
    expect(policies.get('crowd')?.backoff).toEqual({
      kind: 'decorrelated',
      initial: 100,
      multiplier: 3,
      max: 10_000,
    })
    expect(policies.get('patient')?.retries).toBe(9)
    expect(policies.get('escalating')?.backoff).toMatchObject({
      kind: 'tiers',
      tiers: [{ upTo: 3 }, { upTo: 9 }],
    })
  })

  it('shows guards as it says', () => {
    const [api, mailer] = rulesFor(bookWith('partner-api'), 'orders', 'x').dependencies
    expect(api).toEqual({
      name: 'partner-api',
      timeout: 2000,
      timeouts: { search: 8000 },
      breaker: {
        name: 'partner',
        failures: 5,
        rate: 0.5,
        window: { time: 30_000 },
        volume: 20,
        open: 60_000,
        spread: 0.1,
        probes: 1,
        probeLease: 10_000,
        successes: 2,
        interval: 120_000,
        ramp: 30_000,
        quorum: 2,
      },
      budget: { ratio: 0.2, perSecond: 10, burst: 100 },
    })
    expect(mailer).toMatchObject({ timeout: 30_000, breaker: { failures: 5, open: 300_000 } })
  })

  it('shows batches as it says', () => {
    const book = bookWith('domain-events')
    expect(rulesFor(book, 'pipeline', 'x').batch?.name).toBe('domain-events')
    expect(rulesFor(book, 'pipeline', 'ui.command.send').batch).toBeUndefined()
    expect(rulesFor(book, 'pipeline', 'report.made').batch).toMatchObject({ size: 100, timeout: 10_000 })
    expect(serviceRules(book, 'pipeline').demand).toEqual({ poll: 1000, atOnce: 50, min: 5, max: 20 })
  })

  it('shows how one book extends another', () => {
    const book = bookWith('extends: ./base.yaml')
    expect(rulesFor(book, 'any', 'x').timeout).toBe(5000)
    expect(book.policies.has('gentle')).toBe(true)
    expect(rulesFor(book, 'any', 'x').provenance.policy).toMatchObject({ file: 'base.yaml' })
  })

  it('names every key that a book may have', () => {
    const keys = new Set<string>()
    const look = (node: unknown): void => {
      if (node === null || typeof node !== 'object') return
      const { properties } = node as { properties?: object }
      for (const key of Object.keys(properties ?? {})) keys.add(key)
      for (const each of Object.values(node)) look(each)
    }
    look(jsonSchema())
    const silent = [...keys].filter((key) => !new RegExp(`\\b${key}\\b`).test(page)).sort()
    expect(silent).toEqual([])
  })

  it('shows a function that gives budgets', async () => {
    const code = /^```ts\n([\s\S]*?)^```$/m.exec(page)![1]!
    const run = Object.getPrototypeOf(async () => {}).constructor('reprieve', code)
    let given: { policyFor?: PolicyFor } = {}
    await run((options: typeof given) => {
      given = options
    })
    const book = withPolicyFor(emptyBook, given.policyFor!)
    expect(rulesFor(book, 'any', 'custom.event.made').policy.retries).toBe(9)
    expect(rulesFor(book, 'any', 'other').policy.name).toBe('standard')
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
