import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseExact, sameJson } from './json-exact.ts'
import { applyPatch, readPatch } from './json-patch.ts'

const patched = (document: string, patch: unknown): unknown => {
  const result = applyPatch(parseExact(document)!.value, readPatch(patch))
  return result.is === 'fits' ? JSON.parse(JSON.stringify(result.value)) : result.why
}

describe('JSON Patch, as the examples of RFC 6902 have it', () => {
  it.each([
    [
      'an object member',
      '{"foo":"bar"}',
      [{ op: 'add', path: '/baz', value: 'qux' }],
      { foo: 'bar', baz: 'qux' },
    ],
    [
      'an array element',
      '{"foo":["bar","baz"]}',
      [{ op: 'add', path: '/foo/1', value: 'qux' }],
      { foo: ['bar', 'qux', 'baz'] },
    ],
    ['removing a member', '{"baz":"qux","foo":"bar"}', [{ op: 'remove', path: '/baz' }], { foo: 'bar' }],
    [
      'removing an element',
      '{"foo":["bar","qux","baz"]}',
      [{ op: 'remove', path: '/foo/1' }],
      { foo: ['bar', 'baz'] },
    ],
    [
      'replacing a value',
      '{"baz":"qux","foo":"bar"}',
      [{ op: 'replace', path: '/baz', value: 'boo' }],
      { baz: 'boo', foo: 'bar' },
    ],
    [
      'moving a value',
      '{"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}}',
      [{ op: 'move', from: '/foo/waldo', path: '/qux/thud' }],
      { foo: { bar: 'baz' }, qux: { corge: 'grault', thud: 'fred' } },
    ],
    [
      'moving an element',
      '{"foo":["all","grass","cows","eat"]}',
      [{ op: 'move', from: '/foo/1', path: '/foo/3' }],
      { foo: ['all', 'cows', 'eat', 'grass'] },
    ],
    [
      'testing with success',
      '{"baz":"qux","foo":["a",2,"c"]}',
      [
        { op: 'test', path: '/baz', value: 'qux' },
        { op: 'test', path: '/foo/1', value: 2 },
      ],
      { baz: 'qux', foo: ['a', 2, 'c'] },
    ],
    [
      'testing in vain',
      '{"baz":"qux"}',
      [{ op: 'test', path: '/baz', value: 'bar' }],
      '/baz has another value',
    ],
    [
      'adding a nested object',
      '{"foo":"bar"}',
      [{ op: 'add', path: '/child', value: { grandchild: {} } }],
      { foo: 'bar', child: { grandchild: {} } },
    ],
    [
      'unrecognized elements',
      '{"foo":"bar"}',
      [{ op: 'add', path: '/baz', value: 'qux', xyz: 123 }],
      { foo: 'bar', baz: 'qux' },
    ],
    [
      'adding where nothing can hold it',
      '{"foo":"bar"}',
      [{ op: 'add', path: '/baz/bat', value: 'qux' }],
      'there is no /baz',
    ],
    ['~ in names', '{"/":9,"~1":10}', [{ op: 'test', path: '/~01', value: 10 }], { '/': 9, '~1': 10 }],
    [
      'a text is no number',
      '{"/":9,"~1":10}',
      [{ op: 'test', path: '/~01', value: '10' }],
      '/~01 has another value',
    ],
    [
      'adding an array at the end',
      '{"foo":["bar"]}',
      [{ op: 'add', path: '/foo/-', value: ['abc', 'def'] }],
      { foo: ['bar', ['abc', 'def']] },
    ],
    ['copying', '{"a":{"b":[1]}}', [{ op: 'copy', from: '/a/b', path: '/c' }], { a: { b: [1] }, c: [1] }],
    ['the whole document', '{"a":1}', [{ op: 'replace', path: '', value: [1] }], [1]],
    [
      'an index beyond the end',
      '[1]',
      [{ op: 'add', path: '/2', value: 1 }],
      "'2' is no place in a list of 1",
    ],
    ['an index with a zero before it', '[1,2]', [{ op: 'remove', path: '/01' }], 'there is no /01'],
    [
      'moving into itself',
      '{"a":{"b":1}}',
      [{ op: 'move', from: '/a', path: '/a/b' }],
      "/a can't move into itself",
    ],
    [
      'inherited names are not there',
      '{}',
      [{ op: 'remove', path: '/constructor' }],
      'there is no /constructor',
    ],
    [
      'one wrong step undoes all',
      '{"a":1}',
      [
        { op: 'remove', path: '/a' },
        { op: 'remove', path: '/a' },
      ],
      'operation 2: there is no /a',
    ],
  ])('%s', (_, document, patch, expected) => {
    expect(patched(document, patch)).toEqual(expected)
  })

  it('keeps numbers that no double holds as they were written', () => {
    const { value } = parseExact('{"id":12345678901234567890,"p":1.10,"x":1}')!
    const result = applyPatch(value, [{ op: 'replace', path: '/x', value: 2 }])
    expect(result.is === 'fits' && JSON.stringify(result.value)).toBe(
      '{"id":12345678901234567890,"p":1.10,"x":2}',
    )
  })

  it('never reaches a prototype', () => {
    const { value } = parseExact('{"a":1}')!
    const result = applyPatch(value, [{ op: 'add', path: '/__proto__', value: { polluted: true } }])
    expect(result.is === 'fits' && JSON.stringify(result.value)).toBe('{"a":1,"__proto__":{"polluted":true}}')
    expect(({} as { polluted?: true }).polluted).toBeUndefined()
    expect(patched('{"a":1}', [{ op: 'add', path: '/__proto__/polluted', value: 1 }])).toBe(
      'there is no /__proto__',
    )
  })

  it('leaves the document it was given alone', () => {
    const json = fc.jsonValue({ maxDepth: 3 })
    const steps = fc.array(
      fc.record({
        op: fc.constantFrom('add', 'replace', 'remove', 'move', 'copy'),
        path: fc.constantFrom('', '/a', '/a/b', '/0', '/-', '/a/0'),
        from: fc.constantFrom('', '/a', '/a/b', '/0'),
        value: json,
      }),
      { maxLength: 4 },
    )
    fc.assert(
      fc.property(json, steps, (document, patch) => {
        const before = JSON.stringify(document)
        applyPatch(document, readPatch(patch))
        expect(JSON.stringify(document)).toBe(before)
      }),
    )
  })

  it.each([
    ['no list', {}],
    ['no object', [1]],
    ['an unknown operation', [{ op: 'merge', path: '' }]],
    ['no pointer', [{ op: 'remove', path: 'a' }]],
    ['a half escape', [{ op: 'remove', path: '/a~2' }]],
    ['no value', [{ op: 'add', path: '/a' }]],
    ['no from', [{ op: 'copy', path: '/a' }]],
  ])('refuses %s', (_, patch) => {
    expect(() => readPatch(patch)).toThrow(/the patch can't be read/)
  })

  it('compares numbers by worth and long ones digit by digit', () => {
    const same = (a: string, b: string) => sameJson(parseExact(a)!.value, parseExact(b)!.value)
    expect(same('1.0', '1')).toBe(true)
    expect(same('{"a":1,"b":[2]}', '{"b":[2],"a":1}')).toBe(true)
    expect(same('12345678901234567890', '12345678901234567891')).toBe(false)
    expect(same('1', '"1"')).toBe(false)
    expect(same('[]', '{}')).toBe(false)
  })
})
