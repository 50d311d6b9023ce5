import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { holds, readJson, readWhere } from './where.ts'

const fits = (where: string, data: unknown) => readWhere(where).every((condition) => holds(condition, data))

describe('conditions on a payload', () => {
  const order = {
    total: 250,
    owner: 'Ann "A"',
    gift: null,
    open: true,
    'odd name': 1,
    lines: [{ sku: 'a' }, { sku: 'b' }],
  }
  it.each([
    ['$.total = 250', true],
    ['$.total == 250.0', true],
    ['$.total != 250', false],
    ['$.total >= 250 and $.total < 251', true],
    ['$.total > 100 AND $.owner ~ "ann"', true],
    ['$.owner = \'Ann "A"\'', true],
    ['$.owner = "Ann \\"A\\""', true],
    ['$.gift = null', true],
    ['$.open = true', true],
    ['$["odd name"]=1', true],
    ['$.lines[1].sku = "b"', true],
    ['$.lines[*].sku = "b"', true],
    ['$.lines[2] exists', false],
    ['$.gift exists', true],
    ['$ exists', true],
    // what is not there fits nothing
    ['$.nothing != 1', false],
    ['$.lines.length exists', false],
    ['$.constructor exists', false],
    ['$.__proto__ exists', false],
    // a number is never compared with a text
    ['$.total = "250"', false],
    ['$.total != "250"', true],
    ['$.total > "1"', false],
    ['$.owner > 1', false],
    ['$.total ~ "25"', false],
  ])('%s is %s', (where, expected) => {
    expect(fits(where, order)).toBe(expected)
  })

  it('whole numbers of many digits are told apart as they were written', () => {
    const { value } = readJson('{"id":12345678901234567891,"n":7}')!
    expect(fits('$.id = 12345678901234567891', value)).toBe(true)
    expect(fits('$.id = 12345678901234567892', value)).toBe(false)
    expect(fits('$.id > 12345678901234567890', value)).toBe(true)
    expect(fits('$.n = 7 and $.id > 7', value)).toBe(true)
    expect(readJson('{"a":')).toBeUndefined()
  })

  it.each([5000, 50_000])('payloads of %d levels are looked into like others', (levels) => {
    const deep = `${'['.repeat(levels)}${']'.repeat(levels)}`
    const { value } = readJson(`{"deep":${deep},"id":12345678901234567891,"owner":"ann"}`)!
    expect(fits('$.owner = "ann" and $.id = 12345678901234567891 and $.deep[0][0] exists', value)).toBe(true)
    expect(fits('$.owner = "bob"', value)).toBe(false)
    expect(readJson(`{"deep":${deep},"owner":}`)).toBeUndefined()
  })

  it.each([
    ['', 0, 'a path is missing'],
    ['total > 5', 0, 'a path is missing'],
    ['$.total', 7, 'an operator is missing'],
    ['$.total >', 9, 'a value is missing'],
    ['$.total > abc', 10, 'a value is missing'],
    ['$.total > 1x', 10, 'a value is missing'],
    ['$.total > true', 10, 'true can only be compared'],
    ['$.total ~ 5', 10, 'a text in quotes'],
    ['$. > 5', 2, 'a name is missing'],
    ['$.lines[x] = 1', 7, 'a bracket holds'],
    ['$.lines["a" = 1', 7, 'a bracket holds'],
    ['$.a = "b', 6, 'never closed'],
    ['$.a = 1 or $.b = 2', 8, "only 'and'"],
    ['$.a = 1 and', 11, 'a path is missing'],
  ])('%j is refused at %i', (where, at, why) => {
    const error = (() => {
      try {
        return readWhere(where)
      } catch (thrown) {
        return thrown as Error & { code?: string }
      }
    })()
    expect(error).toMatchObject({ code: 'bad_filter', message: expect.stringContaining(why) })
    expect((error as Error).message).toContain(`\n  ${where}\n  ${' '.repeat(at)}^`)
  })

  it('any text is either read or refused with its place, and any data either fits or not', () => {
    fc.assert(
      fc.property(fc.string(), fc.jsonValue(), (where, data) => {
        try {
          expect(typeof fits(`$${where}`, data)).toBe('boolean')
        } catch (error) {
          expect(error).toMatchObject({ code: 'bad_filter' })
        }
      }),
    )
  })
})
