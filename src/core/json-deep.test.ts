import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseDeep } from './json-deep.ts'

describe('JSON of any depth', () => {
  it('is read as JSON.parse reads it, with any space around', () => {
    fc.assert(
      fc.property(fc.json(), fc.constantFrom(undefined, 1, '\t'), (text, space) => {
        const written = JSON.stringify(JSON.parse(text), undefined, space)
        expect(JSON.stringify(parseDeep(written, Number))).toBe(JSON.stringify(JSON.parse(text)))
      }),
    )
  })

  it('gives numbers to whoever knows what to make of them, and takes every name as a name', () => {
    const text = String.raw`{"__proto__":[-1.5e+3,"a\"b\\",true,null],"":{"x":[]}}`
    expect(JSON.stringify(parseDeep(text, String))).toBe(text.replace('-1.5e+3', '"-1.5e+3"'))
  })
})
