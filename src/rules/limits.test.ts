import { describe, expect, it } from 'vitest'
import { readRules } from './load.ts'
import { BadRules } from './problem.ts'

/** Generous: the machine may be busy. What it guards against takes minutes, or all memory. */
const SOON = 15_000

const refused = (text: string): string => {
  const start = performance.now()
  let message = ''
  try {
    readRules(text, 'book.yaml')
  } catch (error) {
    expect(error).toBeInstanceOf(BadRules)
    message = (error as BadRules).message
  }
  expect(performance.now() - start).toBeLessThan(SOON)
  expect(message).not.toBe('')
  expect(message.length).toBeLessThan(100_000)
  return message
}

const filled = (part: string, bytes = 1_000_000) => part.repeat(Math.floor(bytes / part.length))

describe('what is no rule book is refused soon', () => {
  it('a text of more than a megabyte', () => {
    expect(refused(`version: 1\n#${'x'.repeat(1024 * 1024)}`)).toMatch(
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
  ])('a megabyte of %j', (part) => {
    refused(filled(part))
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
