import { describe, expect, it } from 'vitest'
import { BadRules, readRules } from '../index.ts'
import { type Facts, lint } from './index.ts'

const book = (...silences: readonly string[]) => `version: 1
lint:
  silence:
${silences.map((each) => `    - { ${each} }`).join('\n')}
services:
  mail:
    events:
      order.placed: { alerts: { depth: off } }
      order.paid: { alerts: { depth: off, oldest: off } }
`

const left = (text: string, facts?: Facts) =>
  lint(readRules(text, 'book.yaml'), facts).map(({ path, id }) => `${path} ${id}`)

const refused = (text: string): string => {
  try {
    readRules(text, 'book.yaml')
  } catch (error) {
    expect(error).toBeInstanceOf(BadRules)
    return (error as BadRules).message
  }
  return ''
}

describe('a silence', () => {
  it('is for one path', () => {
    const at = `at: 'services.mail.events."order.paid".alerts.depth'`
    expect(left(book(`check: no-alerts, ${at}, reason: seen elsewhere`))).toEqual([
      'services.mail.events."order.placed".alerts.depth no-alerts',
      'services.mail.events."order.paid".alerts.oldest no-alerts',
    ])
  })

  it('or for all paths with a beginning', () => {
    const at = `at: 'services.mail.events."order.paid".*'`
    expect(left(book(`check: no-alerts, ${at}, reason: seen elsewhere`))).toEqual([
      'services.mail.events."order.placed".alerts.depth no-alerts',
    ])
  })

  it('or for the whole book', () => {
    expect(left(book('check: no-alerts, reason: seen elsewhere'))).toEqual([])
  })

  it('is for one check only', () => {
    expect(left(book('check: no-jitter, reason: seen elsewhere'))).toContain('lint.silence.0 silence-unused')
    expect(left(book('check: no-jitter, reason: seen elsewhere'))).toHaveLength(4)
  })

  it('that silences nothing is told, with its number', () => {
    const idle = `check: no-alerts, at: services.post, reason: long gone`
    expect(left(book('check: no-alerts, reason: seen elsewhere', idle))).toEqual([
      'lint.silence.1 silence-unused',
    ])
    // a path without a star is not a beginning
    expect(left(book('check: no-alerts, at: services.mail, reason: x'))).toContain(
      'lint.silence.0 silence-unused',
    )
  })

  it('for a check whose fact nobody gave is not told', () => {
    const text = `version: 1
lint: { silence: [{ check: order-not-kept, reason: they run on one partition }] }
services: { mail: { order: none } }
`
    expect(left(text)).toEqual([])
    const transport = { name: 'kafka', later: 1, order: 'owner', patterns: true } as const
    const store = 'redis'
    expect(left(text, { transport, store })).toEqual(['lint.silence.0 silence-unused'])
    expect(left(text.replace('none', 'key'), { transport, store })).toEqual([])
  })

  it('without a reason is no rule book', () => {
    expect(refused(book('check: no-alerts'))).toMatch(
      /4:7 lint\.silence\.0\.reason: found nothing; expected text/,
    )
    expect(refused(book("check: no-alerts, reason: ''"))).toMatch(/lint\.silence\.0\.reason/)
  })

  it('for an unknown check neither, nor for what must be heard', () => {
    expect(refused(book('check: no-jiter, reason: x'))).toMatch(/did you mean 'no-jitter'\?/)
    expect(refused(book('check: silence-unused, reason: x'))).toMatch(/lint\.silence\.0\.check/)
    expect(refused(book('check: does-not-load, reason: x'))).toMatch(/lint\.silence\.0\.check/)
  })
})
