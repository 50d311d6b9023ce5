import { describe, expect, it } from 'vitest'
import { bounded, got, isObject, listOf, look, textOf, word } from './look.ts'

const trap = new Proxy(
  {},
  {
    get: () => {
      throw new Error('do not touch')
    },
  },
)

describe('looking', () => {
  it('what can be looked into', () => {
    for (const value of [{}, [], () => {}, new Error('x')]) expect(isObject(value)).toBe(true)
    for (const value of [null, undefined, 'text', 1, true, Symbol('x')]) expect(isObject(value)).toBe(false)
  })

  it('a property that is not there, or throws, is absent', () => {
    expect(look({ a: 1 }, 'a')).toBe(1)
    expect(look('text', 'length')).toBeUndefined()
    expect(look(trap, 'a')).toBeUndefined()
    expect(textOf({ a: 'x' }, 'a')).toBe('x')
    expect(textOf({ a: 1 }, 'a')).toBeUndefined()
  })

  it('lists, and what looks like one, never more than asked for', () => {
    expect(listOf(['a', 'b', 'c'], 2)).toEqual(['a', 'b'])
    expect(listOf({ length: 1, 0: 'a' }, 5)).toEqual(['a'])
    expect(listOf({ length: Number.POSITIVE_INFINITY }, 2)).toEqual([undefined, undefined])
    for (const none of [undefined, 'text', {}, trap, [], { length: '1', 0: 'a' }, { length: -1, 0: 'a' }]) {
      expect(listOf(none, 5)).toEqual([])
    }
    expect(listOf({ length: Number.NaN, 0: 'a' }, 5)).toEqual([])
  })

  it('headers and maps', () => {
    expect(got(new Headers({ a: 'x' }), 'A')).toBe('x')
    expect(got(new Map([['a', 1]]), 'a')).toBe(1)
    for (const none of [undefined, {}, { get: 'a' }, trap, { get: () => trap.toString() }])
      expect(got(none, 'a')).toBeUndefined()
  })
})

describe('what is kept of a text', () => {
  it('ends with an ellipsis where it was cut, and only there', () => {
    expect(bounded('x'.repeat(2000))).toBe('x'.repeat(2000))
    expect(bounded('x'.repeat(2001))).toBe(`${'x'.repeat(1999)}…`)
    expect(word('x'.repeat(100))).toBe('x'.repeat(100))
    expect(word('x'.repeat(101))).toBe(`${'x'.repeat(99)}…`)
    expect(bounded('abc', 3)).toBe('abc')
    expect(bounded('abcd', 3)).toBe('ab…')
  })

  it('holds no password of a URL, and no NUL', () => {
    expect(bounded('amqp://ann:s3cret@a, amqp://bob:t0p:s@cret@b')).toBe('amqp://ann:***@a, amqp://bob:***@b')
    expect(bounded('redis://:s3cret@a')).toBe('redis://:***@a')
    expect(bounded('http://example.org:80/a@b')).toBe('http://example.org:80/a@b')
    expect(bounded('a\0b\0')).toBe('a\ufffdb\ufffd')
    expect(bounded('\ud83d')).toBe('\ufffd')
  })
})
