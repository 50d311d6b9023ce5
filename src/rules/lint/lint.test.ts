import { describe, expect, it } from 'vitest'
import { buildBook } from '../book.ts'
import { emptyBook, readRules } from '../index.ts'
import { type Facts, lint } from './index.ts'

const kafka: Facts = { transport: { name: 'kafka', later: 3_600_000, order: 'owner', patterns: false } }

const linted = (text: string, facts?: Facts) => lint(readRules(`version: 1\n${text}`, 'book.yaml'), facts)

/** `line path id` of each finding. */
const found = (text: string, facts?: Facts) =>
  linted(text, facts).map(({ line, path, id }) => `${line} ${path} ${id}`)

describe('what is built in', () => {
  it('is left alone, by itself and under rows that say nothing', () => {
    expect(lint(emptyBook, { ...kafka, instances: 3 })).toEqual([])
    expect(found('services: { mail: { events: { order.placed: {}, order.paid: {} } } }')).toEqual([])
    expect(found('services: { mail: {} }', { ...kafka, instances: 3, store: 'sqlite' })).toEqual([])
  })

  it('is left alone when its own figures are written out', () => {
    expect(
      found(
        `services:
  mail:
    policy: standard
    timeout: 15s
    idempotency: { pattern: dedup, store: redis, ttl: 7d, key: id }
    deadLetter: { retention: 30d, reprocessing: manual }
    alerts: { inflow: { above: 10 }, depth: { above: 1000 }, oldest: { above: 48h } }`,
      ),
    ).toEqual([])
  })

  it.for(['aggressive', 'standard', 'patient', 'critical', 'none'])('policy %s has no finding', (policy) => {
    expect(found(`services: { mail: { policy: ${policy} } }`, kafka)).toEqual([])
  })
})

describe('findings', () => {
  const many = `defaults:
  idempotency: { ttl: 1m }
  alerts: { depth: off }
services:
  a-svc: { events: { x.one: {}, x.two: {}, x.three: {} } }
  b-svc: { events: { x.one: {}, x.two: { alerts: { depth: off } } } }`

  it('are told once for what many have from one line, with an example, and come by place', () => {
    expect(found(many)).toEqual([
      '3 defaults.idempotency.ttl dedup-shorter-than-replay',
      '3 defaults.idempotency.ttl dedup-shorter-than-retries',
      '4 defaults.alerts.depth no-alerts',
      '7 services.b-svc.events."x.two".alerts.depth no-alerts',
    ])
    const [first, , , last] = linted(many)
    expect(first!.reason).toMatch(/ \(as for a-svc, x\.one\)$/)
    expect(last!.reason).not.toMatch(/as for/)
  })

  it('say everything a program needs', () => {
    expect(linted('services: { mail: { alerts: { depth: off } } }')).toEqual([
      {
        id: 'no-alerts',
        severity: 'warning',
        file: 'book.yaml',
        line: 2,
        column: 31,
        path: 'services.mail.alerts.depth',
        reason: 'nobody is told of dead letters by depth',
        fix: expect.stringContaining('threshold'),
        docs: 'docs/lint.md#no-alerts',
      },
    ])
  })

  it('are the same each time', () => {
    expect(linted(many)).toEqual(linted(many))
  })

  it('are told in the file that they stand in, the book first and then what it extends', () => {
    const base = 'version: 1\npolicies:\n  steady: { backoff: fixed, delay: 10s, jitter: none, retries: 3 }\n'
    const book = readRules(
      'version: 1\nextends: ./base.yaml\ndefaults:\n  policy: steady\n  alerts: { depth: off }\nservices: { mail: {} }\n',
      'book.yaml',
      {},
      () => ({ file: 'base.yaml', text: base }),
    )
    expect(lint(book).map(({ file, line, id }) => `${file}:${line} ${id}`)).toEqual([
      'book.yaml:5 no-alerts',
      'base.yaml:3 no-jitter',
    ])
  })

  it('never hold the password of a store', () => {
    const text = `stores: { ledgers: 'memory://me:hunter2@x', other: 'redis://me:hunter2@y' }
services: { mail: { idempotency: { store: ledgers } } }`
    const all = linted(text, { instances: 2 })
    expect(all.map(({ id }) => id)).toEqual(['unused-store', 'memory-ledger'])
    expect(JSON.stringify(all)).not.toMatch(/hunter2/)
  })
})

describe('two thousand services with twenty events each', () => {
  const bookOf = (services: number) => {
    const types = Array.from(
      { length: services * 20 },
      (_, index) => `part${index % 50}.thing${index}.changed`,
    )
    const own = (index: number) => types.slice(index * 20, index * 20 + 20)
    const says = { timeout: 5000, idempotency: { pattern: 'dedup' as const, ttl: 60_000 } }
    const names = Array.from({ length: services }, (_, index) => index)
    return buildBook({
      policies: Object.fromEntries(names.map((index) => [`p${index}`, { retries: 5, initial: 50 }])),
      topics: Object.fromEntries(names.map((index) => [`topic-${index}`, own(index)])),
      services: Object.fromEntries(
        names.map((index) => {
          const rows = [...own(index).slice(1), `part${index % 50}.*`]
          const events = Object.fromEntries(rows.map((row) => [row, says]))
          return [`svc-${index}`, { policy: `p${index}`, dependencies: ['smtp'], events }]
        }),
      ),
    })
  }
  const found = (services: number): number => lint(bookOf(services), { ...kafka, instances: 2 }).length

  // what grew with the square of the book would not come back before the test's time is over
  it('are linted whole, eight times as many with eight times as much to find', () => {
    const small = found(250)
    expect(small).toBeGreaterThan(5000)
    expect(found(2000)).toBe(8 * small)
  })
})
