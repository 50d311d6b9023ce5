import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { classify } from './classify.ts'

const thrownBy = async (fn: () => unknown): Promise<unknown> => {
  try {
    await fn()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

describe('what can not be decoded', () => {
  it.each([
    ['JSON.parse', () => JSON.parse('{bad')],
    ['an answer that is not JSON', () => new Response('<html>').json()],
    ['bytes that are not UTF-8', () => new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.of(0xff))],
    ['a BigInt as JSON', () => JSON.stringify({ amount: 1n })],
    [
      'a circle as JSON',
      () => {
        const circle: Record<string, unknown> = {}
        JSON.stringify(Object.assign(circle, { circle }))
      },
    ],
    ['an escape that is not UTF-8', () => decodeURIComponent('%E0%A4%A')],
    ['characters that are not base64', () => atob('$')],
    ['a function as a message', () => structuredClone(() => {})],
    ['bytes that are not gzip', () => gunzipSync(Buffer.from('plain text'))],
    ['zod', () => z.object({ mail: z.string() }).parse({ mail: 1 })],
    ['zod, asynchronously', () => z.object({ mail: z.string() }).parseAsync({})],
  ])('%s', async (_, fn) => {
    expect(classify(await thrownBy(fn))).toMatchObject({ category: 'permanent', kind: 'schema' })
  })

  it('zod is told by path, not as a page of JSON', async () => {
    const error = await thrownBy(() =>
      z.object({ owner: z.object({ mail: z.string() }) }).parse({ owner: {} }),
    )
    expect(classify(error)).toMatchObject({
      name: 'ZodError',
      message: 'owner.mail: Invalid input: expected string, received undefined',
    })
  })

  it('any error that lists issues', () => {
    const issues = [{ message: 'expected string', path: ['a'] }]
    expect(classify(Object.assign(new Error('no'), { issues }))).toMatchObject({ kind: 'schema' })
    expect(classify(Object.assign(new Error('no'), { issues: [] }))).toMatchObject({ kind: 'handler' })
    expect(classify(Object.assign(new Error('no'), { issues: ['JIRA'] }))).toMatchObject({ kind: 'handler' })
  })
})
