import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { actOn, checkName, plainAct, plainName, plainText } from './acts.ts'

describe('what is kept of an act', () => {
  it('shows nothing unseen and is bounded, whatever was typed', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 3000 }), (text) => {
        const plain = plainText(text)
        expect(plain).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u)
        expect(plain.length).toBeLessThanOrEqual(1001)
        expect(plain.isWellFormed()).toBe(true)
        expect(plainName(text)).not.toBe('')
      }),
    )
    expect(plainText('  line one\nline\ttwo  ')).toBe('line one line two')
    expect(plainText('a\u202eb\u001b[31m')).toBe('a\ufffdb\ufffd[31m')
  })

  it('takes names of people, machines and jobs, and refuses what could mislead', () => {
    for (const name of [
      'ann',
      'Žofie Nová',
      'ann.lee+ops@example.org',
      'DOMAIN\\ann',
      'recovery job of host:12',
      'a',
    ])
      expect(checkName(name)).toBe(name)
    for (const name of [
      '',
      ' ann',
      'ann ',
      'a\u202en',
      'a\nb',
      '\u001b[31m',
      'a'.repeat(101),
      '<b>',
      '"ann"',
      '-as',
    ])
      expect(() => checkName(name), name).toThrow(/can't be the name/)
  })

  it('names the first twenty letters and all by one hash, which does not depend on their order', () => {
    const ids = Array.from({ length: 25 }, (_, n) => `l-${n}`)
    const act = { at: 1, who: 'ann', act: 'discard', details: { set: 1 } }
    const one = actOn(act, ids)
    expect(one).toMatchObject({
      target: 'letters',
      count: 25,
      details: { more: 5, set: 1, ids: ids.slice(0, 20) },
    })
    expect(actOn(act, ids.toReversed()).details.hash).toBe(one.details.hash)
    expect(actOn(act, ids.slice(1)).details.hash).not.toBe(one.details.hash)
    expect(actOn(act, ['x'])).toMatchObject({ target: 'letter x', count: 1 })
  })

  it('is made plain in every part, and an empty reason is none', () => {
    const act = {
      at: 1.5,
      who: 'a\nb',
      act: 'pause',
      target: 'x\u0000',
      count: 1,
      reason: ' \n',
      details: { a: ['\u0007'] },
    }
    expect(plainAct(act)).toEqual({
      at: 2,
      who: 'a b',
      act: 'pause',
      target: 'x\ufffd',
      count: 1,
      details: { a: ['\ufffd'] },
    })
  })
})
