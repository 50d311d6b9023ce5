import { describe, expect, it } from 'vitest'
import { sampleLetters } from '../testing/letters.ts'
import type { Event } from './event.ts'
import type { Letter } from './letter.ts'
import { letterEvent } from './letter.ts'
import { readLetter } from './letter-reading.ts'
import { redactedAt, redactLetter } from './redact.ts'
import { contentHash } from './repair.ts'

const letterWith = (text: string | null, over: Partial<Event> = {}, more: Partial<Letter> = {}): Letter => {
  const [letter] = sampleLetters(1, 1000)
  const data = text === null ? null : Buffer.from(text)
  return { ...letter!, event: { ...letter!.event, data, ...over }, ...more }
}
const textOf = ({ event }: Letter): string => Buffer.from(event.data ?? []).toString()
const rule = (...paths: string[]) => [{ paths, headers: [] }]

describe('redaction of a letter', () => {
  it.each([
    [
      'a value',
      '{"card":{"number":"4111","cvc":1},"a":1}',
      ['$.card.number'],
      '{"card":{"number":"[redacted]","cvc":1},"a":1}',
      ['$.card.number'],
    ],
    [
      'every element',
      '{"l":[{"iban":"x"},{"iban":2}]}',
      ['$.l[*].iban'],
      '{"l":[{"iban":"[redacted]"},{"iban":"[redacted]"}]}',
      ['$.l[0].iban', '$.l[1].iban'],
    ],
    [
      'a whole part',
      '{"card":{"number":"4111"}}',
      ['$.card', '$.card.number'],
      '{"card":"[redacted]"}',
      ['$.card', '$.card.number'],
    ],
    ['odd names', '{"a b":"secret"}', ['$["a b"]'], '{"a b":"[redacted]"}', ['$["a b"]']],
    ['what is no JSON, all of it', 'number=4111', ['$.card'], '', ['$']],
  ])('takes out %s', (_, text, paths, expected, at) => {
    const redacted = redactLetter(letterWith(text), rule(...paths))
    expect([textOf(redacted), redacted.redacted]).toEqual([expected, { at }])
  })

  it.each([
    ['nothing stands there', '{"a":1}'],
    ['there is no payload', null],
  ])('leaves the letter as it is where %s', (_, text) => {
    const letter = letterWith(text)
    expect(redactLetter(letter, rule('$.card'))).toBe(letter)
  })

  it('takes headers out, whatever their case, and secrets out of the texts of the failure', () => {
    const letter = letterWith(
      '{"pin":"0815-secret"}',
      { headers: { Authorization: 'Bearer abcdef', 'x-a': '1' } },
      {
        error: 'refused Bearer abcdef for 0815-secret',
        stack: 'Error: 0815-secret\n  at x',
      },
    )
    const { trail } = letter
    const record = { ...trail.records[0]!, error: 'pin 0815-secret' }
    const redacted = redactLetter({ ...letter, trail: { ...trail, records: [record] } }, [
      { paths: ['$.pin'], headers: ['authorization'] },
      { paths: [], headers: ['x-none*'] },
    ])
    expect(redacted.event.headers).toEqual({ Authorization: '[redacted]', 'x-a': '1' })
    expect(redacted.error).toBe('refused [redacted] for [redacted]')
    expect(JSON.stringify(redacted)).not.toMatch(/abcdef|0815/)
    expect(textOf(redacted)).not.toContain('0815')
    expect(redacted.redacted).toEqual({ at: ['$.pin', 'headers.Authorization'] })
    expect(readLetter(letterEvent(redacted))!.redacted).toEqual(redacted.redacted)
  })

  it('tells what is still to be repaired', () => {
    const letter = redactLetter(letterWith('{"a":{"b":"secret"}}', { headers: { h: 'secret' } }), [
      { paths: ['$.a.b'], headers: ['h'] },
    ])
    const repaired = (headers: Record<string, string>, text: string) => {
      const content = { headers, data: Buffer.from(text) }
      return { version: 1, at: 1, who: 'x', change: null, before: '', hash: contentHash(content), ...content }
    }
    expect(redactedAt(letter, undefined)).toEqual(['$.a.b', 'headers.h'])
    expect(redactedAt(letter, repaired({ h: 'new' }, '{"a":{"b":"[redacted]"}}'))).toEqual(['$.a.b'])
    expect(redactedAt(letter, repaired({}, '{"a":{}}'))).toEqual([])
    const whole = redactLetter(letterWith('no json'), rule('$.a'))
    expect(redactedAt(whole, undefined)).toEqual(['$'])
    expect(redactedAt(whole, repaired({}, '{"a":1}'))).toEqual([])
  })
})
