import { describe, expect, it } from 'vitest'
import { roomOf, sources } from './source.ts'

const TIME_OR_CHANCE =
  /\bDate\.now\b|\bnew Date\(\s*\)|\bperformance\.now\b|\bset(Timeout|Interval|Immediate)\b|Math\.random|\brandom(UUID|Bytes|Int)\b|AbortSignal\.timeout/
const OUTSIDE = /\bprocess\.|\bconsole\.|\bglobalThis\.fetch\b|\bfetch\(/

const withoutComments = (text: string): string =>
  text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '')

const breaking = (rooms: readonly string[], pattern: RegExp): string[] =>
  sources()
    .filter(({ path }) => rooms.includes(roomOf(path)))
    .flatMap(({ path, text }) => {
      const found = pattern.exec(withoutComments(text))
      return found ? [`${path}: ${found[0]}`] : []
    })

describe('purity', () => {
  it('core, rules, runtime and office ask for time and chance, and never fetch them', () => {
    expect(breaking(['core', 'contracts', 'rules', 'runtime', 'office'], TIME_OR_CHANCE)).toEqual([])
  })

  it('core and rules reach nothing outside', () => {
    expect(breaking(['core', 'contracts', 'rules'], OUTSIDE)).toEqual([])
    const impure = sources()
      .filter(({ path }) => ['core', 'contracts', 'rules'].includes(roomOf(path)))
      .flatMap(({ path, packages }) =>
        packages
          .filter((name) => name.startsWith('node:') && name !== 'node:crypto')
          .map((name) => `${path}: ${name}`),
      )
    expect(impure).toEqual([])
  })

  it('the check itself finds what it looks for', () => {
    expect(TIME_OR_CHANCE.test('const at = Date.now()')).toBe(true)
    expect(TIME_OR_CHANCE.test('await new Promise((resolve) => setTimeout(resolve, 1))')).toBe(true)
    expect(TIME_OR_CHANCE.test('new Date(at).toISOString()')).toBe(false)
    expect(OUTSIDE.test('process.env.HOME')).toBe(true)
  })
})
