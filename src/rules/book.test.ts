import { describe, expect, it } from 'vitest'
import { readRules } from './load.ts'
import { BadRules, type Problem } from './problem.ts'

/** Placeholders are written with § here, so that nobody takes them for the language's own. */
const read = (text: string, env: Record<string, string> = {}) =>
  readRules(text.replaceAll('§', '$'), 'book.yaml', env)

const problemsIn = (text: string): readonly Problem[] => {
  try {
    read(text)
  } catch (error) {
    expect(error).toBeInstanceOf(BadRules)
    return (error as BadRules).problems
  }
  return []
}

/** `line:column path` of each problem. */
const places = (text: string) => problemsIn(text).map(({ line, column, path }) => `${line}:${column} ${path}`)

describe('placeholders', () => {
  const book = (env: Record<string, string>) =>
    read(
      [
        'version: 1',
        'stores: { redis: "§{REDIS:-}" , postgres: "pg://§{USER:-app}@§{HOST}/x" }',
        'defaults:',
        '  concurrency: §{WORKERS:-7}',
        '  timeout: §{TIMEOUT:-20s}',
      ].join('\n'),
      env,
    )

  it('are filled in from what the caller hands over, numbers too', () => {
    const { stores, defaults } = book({ HOST: 'db', WORKERS: '3' })
    expect(stores.get('postgres')).toBe('pg://app@db/x')
    expect(stores.get('redis')).toBeUndefined()
    expect(defaults).toMatchObject({ concurrency: 3, timeout: 20_000 })
  })

  it('are told where they lack a value', () => {
    expect(() => book({})).toThrow(
      /book.yaml:2:43 stores.postgres: found the environment variable HOST is not set/,
    )
  })

  it('and what they hold is never shown', () => {
    const run = () => book({ HOST: 'db', TIMEOUT: 'hunter2' })
    expect(run).toThrow(/5:12 defaults.timeout: found '\$\{TIMEOUT:-20s\}', filled in; expected a duration/)
    expect(run).not.toThrow(/hunter2/)
  })

  it('nor is the password of a URL', () => {
    const text = 'version: 1\nservices: { s: { timeout: "redis://me:hunter2@host" } }\n'
    expect(problemsIn(text)[0]?.found).toBe("'redis://…@host'")
    expect(problemsIn(text.replace('hunter2', 'hunt/er@2'))[0]?.found).toBe("'redis://…@host'")
  })

  it('do not stand in keys', () => {
    expect(places('version: 1\nservices:\n  §{NAME}: {}\n')).toEqual([`3:3 services."\${NAME}"`])
  })
})

describe('a book', () => {
  it('may leave a row or a section empty', () => {
    const book = readRules('version: 1\npolicies:\nservices:\n  s:\n    events:\n      a.b:\n', 'book.yaml')
    expect(book.services.get('s')?.events).toEqual({ 'a.b': {} })
  })

  it('may use anchors', () => {
    const lines = [
      'version: 1',
      'services:',
      '  a: &a',
      '    timeout: 3s',
      '    events: { x: {} }',
      '  b: *a',
    ]
    const book = readRules(lines.join('\n'), 'book.yaml')
    expect(book.services.get('b')).toMatchObject({ timeout: 3000, events: { x: {} } })
  })

  it('tells what is wrong behind an anchor where it is written', () => {
    expect(places('version: 1\nservices:\n  a: &a { timeout: 3 }\n  b: *a\n')).toEqual([
      '3:20 services.a.timeout',
      '3:20 services.b.timeout',
    ])
  })

  it('may give dependencies and breakers of its own', () => {
    const text = [
      'version: 1',
      'timeouts: { quick: 2s }',
      'breakers: { gentle: { failures: 9 }, kafkaBreaker: { open: 90s } }',
      'dependencies:',
      '  mailer: { extends: smtp, timeout: quick }',
      '  crm: { breaker: gentle, timeouts: { search: 40s } }',
      '  bare: {}',
      '  unguarded: { breaker: none }',
    ].join('\n')
    const { breakers, dependencies } = readRules(text, 'book.yaml')
    expect(breakers.get('kafkaBreaker')).toMatchObject({
      failures: 5,
      open: 90_000,
      probes: 1,
      interval: 60_000,
    })
    expect(dependencies.get('mailer')).toMatchObject({
      timeout: 2000,
      breaker: { failures: 5, open: 120_000 },
    })
    expect(dependencies.get('crm')).toMatchObject({
      breaker: { name: 'gentle', failures: 9 },
      timeouts: { search: 40_000 },
    })
    expect(dependencies.get('bare')).toMatchObject({
      timeout: 15_000,
      breaker: { name: 'bare', failures: 5 },
    })
    expect(dependencies.get('unguarded')).not.toHaveProperty('breaker')
    expect(dependencies.get('webhook')).toMatchObject({
      timeout: 30_000,
      breaker: { open: 60_000, probes: 2 },
    })
  })
})
