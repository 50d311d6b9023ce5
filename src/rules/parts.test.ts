import { describe, expect, it } from 'vitest'
import { readRules } from './load.ts'
import type { ReadOther } from './parts.ts'
import { BadRules } from './problem.ts'
import { rulesFor } from './resolve.ts'
import { serviceRules } from './services.ts'

/** Books by name, as if they lay in one folder. The first is the one that is read. */
const read = (files: Readonly<Record<string, string>>, env: Record<string, string> = {}) => {
  const asked: string[] = []
  const readOther: ReadOther = (target) => {
    const file = target.replace('./', '')
    asked.push(file)
    const text = files[file]
    return text === undefined ? { fault: 'does not exist' } : { file, text: text.replaceAll('§', '$') }
  }
  const [[file, text]] = Object.entries(files) as [[string, string]]
  return { book: readRules(text.replaceAll('§', '$'), file, env, readOther), asked }
}

const problemsIn = (
  files: Readonly<Record<string, string>>,
  env?: Record<string, string>,
): readonly string[] => {
  try {
    read(files, env)
  } catch (error) {
    expect(error).toBeInstanceOf(BadRules)
    return (error as BadRules).message
      .split('\n')
      .slice(1)
      .map((line) => line.trim())
  }
  return []
}

const BASE = `version: 1
policies:
  p: { backoff: linear, step: 5s, retries: 4 }
  q: { backoff: linear, step: 7s, retries: 4 }
defaults: { timeout: 11s, criticality: low }
services:
  s:
    concurrency: 3
    timeout: 12s
    events:
      a.b: { policy: p, channel: mail }
      a.c: { policy: q }
`

describe('a book that extends another', () => {
  const near = `version: 1
extends: ./base.yaml
policies:
  p: { attempts: 3 }
  q: { backoff: exponential, initial: 2s }
defaults: { timeout: 20s }
services:
  s:
    events:
      a.b: { timeout: 5s }
`
  const { book } = read({ 'near.yaml': near, 'base.yaml': BASE })

  it('wins value by value, and the rest is kept', () => {
    expect(rulesFor(book, 's', 'a.b')).toMatchObject({
      timeout: 5000,
      channel: 'mail',
      criticality: 'low',
      covered: 'exact',
    })
    expect(rulesFor(book, 's', 'a.c').timeout).toBe(12_000)
    expect(rulesFor(book, 'other', 'x').timeout).toBe(20_000)
    expect(serviceRules(book, 's').concurrency).toBe(3)
  })

  it('tells of each value in which file it stands', () => {
    expect(rulesFor(book, 's', 'a.b').provenance).toMatchObject({
      timeout: { file: 'near.yaml', line: 10 },
      channel: { file: 'base.yaml', line: 11 },
      criticality: { file: 'base.yaml', line: 5 },
      policy: { file: 'base.yaml', line: 11 },
      'policy.definition': { file: 'near.yaml', line: 4 },
    })
    expect(book.files).toEqual(['near.yaml', 'base.yaml'])
    expect(book.file).toBe('near.yaml')
  })

  it('makes void what it says in another way: the other limit, the other backoff', () => {
    expect(book.policies.get('p')).toMatchObject({ retries: 2, backoff: { kind: 'linear', step: 5000 } })
    expect(book.policies.get('q')).toMatchObject({
      retries: 4,
      backoff: { kind: 'exponential', initial: 2000 },
    })
  })

  it('takes nothing away by an empty row', () => {
    const empty = 'version: 1\nextends: base.yaml\nservices: { s: { events: { a.b: } } }\npolicies:\n'
    expect(rulesFor(read({ 'n.yaml': empty, 'base.yaml': BASE }).book, 's', 'a.b')).toMatchObject({
      channel: 'mail',
      policy: { name: 'p' },
    })
  })

  it('replaces lists, and a name by what is written in place', () => {
    const far = 'version: 1\ndefaults: { dependencies: [smtp, sms], policy: patient, poison: off }\n'
    const own =
      'version: 1\nextends: f.yaml\ndefaults: { dependencies: [redis], policy: { attempts: 2 }, poison: { crashes: 5 } }\n'
    const { dependencies, policy, poison } = rulesFor(read({ 'n.yaml': own, 'f.yaml': far }).book, 's', 'x')
    expect(dependencies.map(({ name }) => name)).toEqual(['redis'])
    expect(policy).toMatchObject({ name: 'inline', retries: 1, backoff: { initial: 100 } })
    expect(poison).toMatchObject({ crashes: 5, failures: 3 })
  })
})

describe('several books', () => {
  it('of a list the later wins, and each may extend others', () => {
    const files = {
      'top.yaml': 'version: 1\nextends: [one.yaml, two.yaml]\n',
      'one.yaml': 'version: 1\ndefaults: { timeout: 1s, lease: 1m, window: 1 }\n',
      'two.yaml': 'version: 1\nextends: three.yaml\ndefaults: { timeout: 2s }\n',
      'three.yaml': 'version: 1\ndefaults: { timeout: 3s, window: 3 }\n',
    }
    const { book } = read(files)
    expect(book.defaults).toMatchObject({ timeout: 2000, lease: 60_000, window: 3 })
    expect(book.files).toEqual(['top.yaml', 'one.yaml', 'two.yaml', 'three.yaml'])
  })

  it('silences of all of them count, each with its place', () => {
    const silence = (check: string) =>
      `version: 1\nlint:\n  silence:\n    - { check: ${check}, reason: meant }\n`
    const { book } = read({
      'top.yaml': `${silence('no-jitter')}extends: far.yaml\n`,
      'far.yaml': `# far\n${silence('one-policy')}`,
    })
    expect(book.placeOf(['lint', 'silence', '0'])).toMatchObject({ file: 'top.yaml', line: 4 })
    expect(book.placeOf(['lint', 'silence', '1'])).toMatchObject({ file: 'far.yaml', line: 5 })
  })

  it('one that is reached twice is read once, however many ways lead there', () => {
    const layer = (next: string) => `version: 1\nextends: [${`${next}, `.repeat(16)}]\n`
    const files: Record<string, string> = { 'l0.yaml': layer('l1.yaml') }
    for (let level = 1; level < 7; level++) files[`l${level}.yaml`] = layer(`l${level + 1}.yaml`)
    files['l7.yaml'] = 'version: 1\ndefaults: { timeout: 9s }\n'
    const { book, asked } = read(files)
    expect(book.defaults.timeout).toBe(9000)
    // not 16 to the seventh
    expect(asked).toHaveLength(7 * 16)
  })
})

describe('what is wrong with an extended book', () => {
  it('is told in its own file, together with the rest', () => {
    expect(
      problemsIn({
        'near.yaml': 'version: 1\nextends: far.yaml\ndefaults: { policy: standrad }\n',
        'far.yaml': 'version: 1\nservices:\n  s: { timeout: never, polcy: none }\n',
      }),
    ).toEqual([
      expect.stringMatching(/^near\.yaml:3:21 defaults\.policy: found 'standrad'.*did you mean 'standard'/),
      expect.stringMatching(/^far\.yaml:3:17 services\.s\.timeout: found 'never'/),
      expect.stringMatching(
        /^far\.yaml:3:24 services\.s\.polcy: found the unknown key.*did you mean 'policy'/,
      ),
    ])
  })

  it.each([
    [
      'a missing file',
      { 'a.yaml': 'version: 1\nextends: gone.yaml\n' },
      /^a\.yaml:2:10 extends: found 'gone\.yaml', which does not exist/,
    ],
    [
      'one of a list',
      { 'a.yaml': 'version: 1\nextends:\n  - b.yaml\n  - gone.yaml\n', 'b.yaml': 'version: 1\n' },
      /^a\.yaml:4:5 extends\.1: /,
    ],
    [
      'a circle',
      { 'a.yaml': 'version: 1\nextends: b.yaml\n', 'b.yaml': 'extends: a.yaml\n' },
      /^b\.yaml:1:10 extends: found 'a\.yaml', which leads back to a\.yaml; expected no circle/,
    ],
    ['itself', { 'a.yaml': 'extends: a.yaml\nversion: 1\n' }, /^a\.yaml:1:10 extends: .*no circle/],
    [
      'a URL',
      { 'a.yaml': 'version: 1\nextends: https://me:hunter2@host/a.yaml\n' },
      /^a\.yaml:2:10 extends: found 'https:\/\/…@host\/a\.yaml', a URL; expected a file/,
    ],
    [
      'no YAML',
      { 'a.yaml': 'version: 1\nextends: b.yaml\n', 'b.yaml': 'a: [' },
      /^b\.yaml:1:\d+ .*expected correct YAML/,
    ],
    [
      'a list',
      { 'a.yaml': 'version: 1\nextends: b.yaml\n', 'b.yaml': '- x\n' },
      /^b\.yaml:1:1 found a list; expected a mapping/,
    ],
    [
      'another version',
      { 'a.yaml': 'version: 1\nextends: b.yaml\n', 'b.yaml': 'version: 2\n' },
      /^b\.yaml:1:10 version: found 2/,
    ],
    [
      'a number',
      { 'a.yaml': 'version: 1\nextends: 7\n' },
      /^a\.yaml:2:10 extends: found 7; expected the path/,
    ],
  ])('%s', (_, files, told) => {
    const problems = problemsIn(files as Record<string, string>)
    expect(problems).toEqual([expect.stringMatching(told)])
    expect(problems.join()).not.toMatch(/hunter2/)
  })

  it('a chain too long, and more than all may hold', () => {
    const chain = Object.fromEntries(
      Array.from({ length: 12 }, (_, index) => [`${index}.yaml`, `version: 1\nextends: ${index + 1}.yaml\n`]),
    )
    expect(problemsIn(chain)).toEqual([expect.stringMatching(/^8\.yaml:2:10 .*at most 8 books deep/)])
    const wide = { 'a.yaml': 'version: 1\nextends: [b.yaml, c.yaml]\n' }
    const large = `version: 1\n# ${'x'.repeat(2_200_000)}\n`
    expect(problemsIn({ ...wide, 'b.yaml': large, 'c.yaml': large })).toEqual([
      expect.stringMatching(/^a\.yaml:2:19 extends\.1: .*too large beside the others/),
    ])
  })

  it('and a text that came from no file extends nothing', () => {
    expect(() => readRules('version: 1\nextends: a.yaml\n', 'text')).toThrow(/not read from a file/)
  })

  it('the value of a placeholder is not told, in whichever file it stands', () => {
    const [problem] = problemsIn(
      { 'a.yaml': 'version: 1\nextends: b.yaml\n', 'b.yaml': 'defaults: { timeout: "§{T}" }\n' },
      { T: 'hunter2' },
    )
    expect(problem).toMatch(/^b\.yaml:1:22 defaults\.timeout: found '\$\{T\}', filled in/)
    const [plain] = problemsIn(
      {
        'a.yaml': 'version: 1\nextends: b.yaml\ndefaults: { timeout: no }\n',
        'b.yaml': 'defaults: { timeout: "§{T}" }\n',
      },
      { T: 'hunter2' },
    )
    expect(plain).toMatch(/^a\.yaml:3:22 defaults\.timeout: found 'no'/)
  })
})

describe('a book in pieces', () => {
  const sections = BASE.split(/^(?=\w)/m).slice(1)

  it('says the same as in one piece, wherever it is cut', () => {
    const whole = readRules(BASE, 'whole.yaml')
    for (let cut = 0; cut < 2 ** sections.length; cut++) {
      const part = (of: number) => sections.filter((_, index) => ((cut >> index) & 1) === of).join('')
      const { book } = read({
        'a.yaml': `version: 1\nextends: b.yaml\n${part(0)}`,
        'b.yaml': `version: 1\n${part(1)}`,
      })
      for (const event of ['a.b', 'a.c', 'x']) {
        const { provenance: _, ...rules } = rulesFor(book, 's', event)
        expect(whole.services.size).toBe(book.services.size)
        expect(rules).toEqual((({ provenance: __, ...own }) => own)(rulesFor(whole, 's', event)))
      }
    }
  })
})
