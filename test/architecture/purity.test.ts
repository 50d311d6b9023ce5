import { describe, expect, it } from 'vitest'
import { roomOf, sources } from './source.ts'

const TIME_OR_CHANCE = new RegExp(
  [
    String.raw`\bDate\.now\b|\bnew Date(?!\w|\s*\(\s*[^\s)])|(?<!\bnew )\bDate\(`,
    String.raw`\bperformance\.(now|timeOrigin)\b|\bprocess\.(hrtime|uptime|nextTick)\b|\bnode:(timers|perf_hooks)\b`,
    String.raw`\bset(Timeout|Interval|Immediate)\b|\bqueueMicrotask\b|\bAbortSignal\.timeout\b`,
    String.raw`\bMath\.random\b|\brandom(UUID|Bytes|Int|FillSync|Fill)\b|\bgetRandomValues\b`,
  ].join('|'),
)
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

  it('runtime and office reach nothing outside but through what they are given', () => {
    const impure = sources()
      .filter(({ path }) => ['runtime', 'office'].includes(roomOf(path)))
      .flatMap(({ path, packages }) =>
        packages.filter((name) => name !== 'node:crypto').map((name) => `${path}: ${name}`),
      )
    expect(impure).toEqual([])
    expect(breaking(['runtime', 'office'], OUTSIDE)).toEqual([])
  })

  it('the check itself finds what it looks for', () => {
    expect(TIME_OR_CHANCE.test('const at = Date.now()')).toBe(true)
    expect(TIME_OR_CHANCE.test('await new Promise((resolve) => setTimeout(resolve, 1))')).toBe(true)
    for (const found of [
      'new Date()',
      'new Date( )',
      'new Date',
      'new Date\n',
      'Date()',
      'process.hrtime.bigint()',
      "from 'node:timers/promises'",
      'queueMicrotask(next)',
      'crypto.getRandomValues(bytes)',
      'randomUUID()',
      'AbortSignal.timeout(5)',
    ])
      expect(found).toMatch(TIME_OR_CHANCE)
    expect(TIME_OR_CHANCE.test('new Date(at).toISOString()')).toBe(false)
    expect(TIME_OR_CHANCE.test('new Dated(at)')).toBe(false)
    expect(OUTSIDE.test('process.env.HOME')).toBe(true)
  })
})
