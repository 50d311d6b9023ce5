import { describe, expect, it } from 'vitest'
import { LineCounter } from 'yaml'
import { composeYaml } from './compose.ts'
import { readRules } from './load.ts'
import { BadRules } from './problem.ts'

const refused = (text: string): string => {
  let message = ''
  try {
    readRules(text, 'book.yaml')
  } catch (error) {
    expect(error).toBeInstanceOf(BadRules)
    message = (error as BadRules).message
  }
  expect(message).not.toBe('')
  expect(message.length).toBeLessThan(100_000)
  return message
}

const filled = (part: string, bytes = 100_000) => part.repeat(Math.floor(bytes / part.length))

describe('what is no rule book is refused soon', () => {
  it('a text of more than four megabytes', () => {
    expect(refused(`version: 1\n#${'x'.repeat(4 * 1024 * 1024)}`)).toMatch(
      /book.yaml:1:1 found a text of \d+ bytes/,
    )
  })

  it('aliases that multiply', () => {
    const levels = Array.from({ length: 12 }, (_, index) =>
      index === 0
        ? 'a0: &a0 [x, x, x, x, x, x, x, x, x]'
        : `a${index}: &a${index} [${`*a${index - 1}, `.repeat(9)}]`,
    )
    expect(refused(levels.join('\n'))).toMatch(/aliases that grow without end/)
  })

  it('an alias inside itself, or to nothing', () => {
    expect(refused('version: 1\nservices: &a { x: *a }\n')).toMatch(
      /2:19 services.x: found \*a inside itself/,
    )
    expect(refused('version: 1\nservices: *a\n')).toMatch(/[aA]lias/)
  })

  it('names that reach into every object', () => {
    for (const name of ['__proto__', 'constructor', 'prototype']) {
      expect(refused(`version: 1\nservices:\n  ${name}: { timeout: 5s }\n`)).toMatch(
        new RegExp(`3:3 services.${name}: found the key '${name}'`),
      )
    }
    expect({}).not.toHaveProperty('timeout')
  })

  it('too many levels', () => {
    expect(refused(`${'['.repeat(30)}${']'.repeat(30)}`)).toMatch(/too many levels/)
    expect(refused(`version: 1\nservices: ${'{ a: '.repeat(20)}1${'}'.repeat(20)}`)).toMatch(
      /too many levels/,
    )
  })

  it.each([
    '[',
    '{',
    '- ',
    '? ',
    '&a ',
    '*a ',
    '"',
    "'",
    ']',
    'a: \n',
    ':\n',
    '%a\n',
    '!a ',
    '|\n',
    '{a: ',
    '\t',
    '\r',
    '---\n',
    '[{',
    '"x"\n',
    '&a\n',
    '}',
  ])('a hundred thousand times %j', (part) => {
    refused(filled(part))
  })

  /** Time depends on the machine; how much is read does not. */
  it.each([
    ['[', 70],
    ['{', 70],
    ['[{', 70],
    ['{a: ', 400],
    ['- ', 200],
    ['? ', 200],
    ['---\n', 20],
    ['%a\n', 400],
    [']', 200],
    ['}', 200],
  ])('of %j not more is read than needed to see what it is', (part, most) => {
    const { tokens, faults } = composeYaml(filled(part, 4_000_000), new LineCounter())
    expect(faults.length).toBeGreaterThan(0)
    expect(tokens).toBeLessThanOrEqual(most)
  })

  it('a flood of mistakes ends after a hundred', () => {
    for (const part of ['&a ', '*a ', '!a ', '""', '"x"\n']) {
      const { faults } = composeYaml(filled(part, 100_000), new LineCounter())
      expect(faults.length).toBeGreaterThan(0)
      expect(faults.length).toBeLessThanOrEqual(100)
    }
  })

  it('a hundred thousand keys, told apart without comparing each with all', () => {
    const keys = Array.from({ length: 100_000 }, (_, index) => `k${index}: 1`).join('\n')
    refused(keys)
  })
})

describe('a large but honest book', () => {
  it('of many services is read', () => {
    const services = Array.from(
      { length: 400 },
      (_, index) => `  s${index}: { events: { a.b: { timeout: 5s }, a.*: } }\n`,
    )
    const text = `version: 1\nservices:\n${services.join('')}`
    expect(readRules(text, 'book.yaml').services.size).toBe(400)
  })
})
