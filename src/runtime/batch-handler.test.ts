import { describe, expect, it } from 'vitest'
import { wentOf } from './batch-handler.ts'
import { dead, later } from './handler.ts'

const DONE = { reply: undefined }

describe('what a batch handler answers', () => {
  it.each([
    ['nothing', undefined],
    ['null', null],
    ['what only its author understands', { inserted: 3 }],
    ['a number', 3],
  ])('%s: all are done', (_, reply) => {
    expect(wentOf(reply, 3, 'h')).toEqual([DONE, DONE, DONE])
  })

  it('one answer, or one error, for all', () => {
    const [wait, no] = [later('5s'), new Error('no')]
    expect(wentOf(wait, 2, 'h')).toEqual([{ reply: wait }, { reply: wait }])
    expect(wentOf(no, 2, 'h')).toEqual([{ error: no }, { error: no }])
  })

  it('an entry for each: nothing, an error, an answer, a settled promise, a hole', () => {
    const [no, wait, never] = [new Error('no'), later(5), dead('gone')]
    const settled = [
      { status: 'fulfilled', value: 7 },
      { status: 'fulfilled', value: wait },
      { status: 'rejected', reason: 'a string' },
      { status: 'rejected', reason: undefined },
    ]
    // biome-ignore lint/suspicious/noSparseArray: what a careless handler may answer
    expect(wentOf([undefined, null, , no, wait, never, true, ...settled], 11, 'h')).toEqual([
      DONE,
      DONE,
      DONE,
      { error: no },
      { reply: wait },
      { reply: never },
      DONE,
      DONE,
      { reply: wait },
      { error: 'a string' },
      { error: undefined },
    ])
  })

  it.each([
    [[], 1],
    [[undefined, undefined], 1],
    [[undefined], 2],
  ])('a list of another length is nobody’s answer: %j for %i', (reply, count) => {
    expect(() => wentOf(reply, count, 'mail.*')).toThrow(
      `the batch handler mail.* answered with ${reply.length} entries for ${count} events`,
    )
  })

  it('an empty list is the answer to no events', () => {
    expect(wentOf([], 0, 'h')).toEqual([])
  })
})
