import { describe, expect, it } from 'vitest'
import { type Change, readChange } from './change.ts'
import type { Event } from './event.ts'
import { contentHash } from './repair.ts'

const event = (text: string | null, over: Partial<Event> = {}): Event => ({
  ...{ id: 'e', source: 's', type: 't', extensions: {}, headers: { a: '1', b: '2' } },
  datacontenttype: 'application/json',
  data: text === null ? null : Buffer.from(text),
  ...over,
})

const changedTo = (text: string | null, change: Change, over: Partial<Event> = {}): string => {
  const changed = readChange(change)(event(text, over))
  return changed.is === 'fits' ? Buffer.from(changed.content.data ?? []).toString() : changed.why
}

describe('a change of what an event carries', () => {
  it.each([
    ['sets what is there', '{"a":{"b":1}}', { set: { '$.a.b': 2 } }, '{"a":{"b":2}}'],
    ['sets what is new', '{"a":{}}', { set: { '$.a.b': [1] } }, '{"a":{"b":[1]}}'],
    [
      'sets in every element',
      '{"l":[{"n":1},{"n":2}]}',
      { set: { '$.l[*].n': 0 } },
      '{"l":[{"n":0},{"n":0}]}',
    ],
    ['sets nothing in nothing', '{"a":1}', { set: { '$.x.y': 2 } }, 'there is no $.x'],
    ['takes away from the end', '{"l":[1,2,3]}', { unset: ['$.l[*]'] }, '{"l":[]}'],
    ['renames', '{"old":7,"x":1}', { rename: { '$.old': '$.new' } }, '{"x":1,"new":7}'],
    ['renames nothing', '{"x":1}', { rename: { '$.old': '$.new' } }, 'there is no $.old'],
    [
      'does all in order',
      '{"a":1}',
      {
        patch: [{ op: 'add', path: '/b', value: 2 }],
        rename: { '$.b': '$.c' },
        set: { '$.c': 3 },
        unset: ['$.a'],
      },
      '{"c":3}',
    ],
    ['says where nothing changes', '{"a": 1}', { set: { '$.a': 1 } }, 'it would stay as it is'],
    ['gives a broken body a new one', 'not json', { set: { $: { a: 1 } } }, '{"a":1}'],
    [
      'does not reach into a broken body',
      'not json',
      { set: { '$.a': 1 } },
      "there is nothing that could hold 'a'",
    ],
    [
      'leaves long numbers alone',
      '{"id":9007199254740993,"a":1}',
      { set: { '$.a': 2 } },
      '{"id":9007199254740993,"a":2}',
    ],
  ] as const)('%s', (_, text, change, expected) => {
    expect(changedTo(text, change as Change)).toBe(expected)
  })

  it('changes headers, and tells what differs', () => {
    const changed = readChange({ headers: { a: null, b: '3', c: '4' } })(event('{"x": 1}'))
    expect(changed).toMatchObject({
      content: { headers: { b: '3', c: '4' } },
      differences: [
        { path: 'headers.a', before: '"1"' },
        { path: 'headers.b', before: '"2"', after: '"3"' },
        { path: 'headers.c', after: '"4"' },
      ],
    })
    // bytes that nobody asked to change stay as they are
    expect(changed.is === 'fits' && Buffer.from(changed.content.data!).toString()).toBe('{"x": 1}')
  })

  it('does not touch what is no JSON', () => {
    expect(changedTo('hello', { set: { $: 1 } }, { datacontenttype: 'text/plain' })).toMatch(
      /text\/plain, no JSON/,
    )
  })

  it.each([
    ['nothing', {}],
    ['a bad path', { set: { 'a.b': 1 } }],
    ['an open path', { unset: ['$.a['] }],
    ['a star in a rename', { rename: { '$.a[*]': '$.b' } }],
    ['a header of two lines', { headers: { a: '1\r\nb: 2' } }],
    ['a header without a name', { headers: { '': '1' } }],
  ] as const)('refuses %s', (_, change) => {
    expect(() => readChange(change as Change)).toThrow(expect.objectContaining({ code: 'bad_usage' }))
  })

  it('refuses what could not travel', () => {
    expect(changedTo('{}', { headers: { big: 'x'.repeat(20_000) } })).toMatch(/at most 16384 can travel/)
  })

  it('a hash tells headers and body apart', () => {
    const hashes = [
      { headers: {}, data: null },
      { headers: {}, data: new Uint8Array() },
      { headers: { a: '1' }, data: null },
      { headers: {}, data: Buffer.from('[["a","1"]]') },
    ].map(contentHash)
    expect(new Set(hashes).size).toBe(4)
    expect(contentHash({ headers: { b: '2', a: '1' }, data: null })).toBe(
      contentHash({ headers: { a: '1', b: '2' }, data: null }),
    )
  })
})
