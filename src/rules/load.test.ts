import { describe, expect, it } from 'vitest'
import { ReprieveError } from '../core/error.ts'
import { readRules } from './load.ts'
import { BadRules, type Problem } from './problem.ts'

/** Placeholders are written with § here, so that nobody takes them for the language's own. */
const read = (text: string, env: Record<string, string> = {}) =>
  readRules(text.replaceAll('§', '$'), 'book.yaml', env)

const problemsIn = (text: string, env: Record<string, string> = {}): readonly Problem[] => {
  try {
    read(text, env)
  } catch (error) {
    expect(error).toBeInstanceOf(BadRules)
    return (error as BadRules).problems
  }
  return []
}

/** `line:column path` of each problem. */
const places = (text: string) => problemsIn(text).map(({ line, column, path }) => `${line}:${column} ${path}`)

const row = (rest: string) => `version: 1\nservices:\n  svc:\n    events:\n      a.b:\n        ${rest}\n`

describe('what is wrong in a rule book is told with its place', () => {
  it.each<[title: string, text: string, place: string, found: RegExp, expected: RegExp]>([
    ['no version', 'services: {}\n', '1:1 version', /nothing/, /version: 1/],
    ['another version', 'version: 2\n', '1:10 version', /2/, /version: 1/],
    ['a list', '- 1\n', '1:1 ', /a list/, /a mapping/],
    ['bad syntax', 'version: 1\nservices: [a\n', '3:1 ', /./, /correct YAML/],
    ['a tab', 'version: 1\nservices:\n\tsvc: {}\n', '3:1 ', /[Tt]ab/, /correct YAML/],
    ['a second document', 'version: 1\n---\nversion: 1\n', '2:1 ', /second document/, /one document/],
    ['a tag', 'version: 1\nservices: !!js/function x\n', '2:11 ', /tag/i, /correct YAML/],
    ['a key twice', 'version: 1\nversion: 1\n', '2:1 version', /twice/, /once/],
    ['an unknown key', 'version: 1\nservises: {}\n', '2:1 servises', /unknown key/, /'services'\?/],
    [
      'an unknown key deep down',
      row('tiemout: 5s'),
      '6:9 services.svc.events."a.b".tiemout',
      /unknown/,
      /'timeout'\?/,
    ],
    [
      'a wrong type',
      row('dependencies: smtp'),
      '6:23 services.svc.events."a.b".dependencies',
      /'smtp'/,
      /a list/,
    ],
    [
      'a number for a duration',
      row('timeout: 30'),
      '6:18 services.svc.events."a.b".timeout',
      /30/,
      /such as 500ms/,
    ],
    ['a bad duration', row('ttl: 5 minutes'), '6:14 services.svc.events."a.b".ttl', /5 minutes/, /duration/],
    [
      'an unknown policy',
      row('policy: standrad'),
      '6:17 services.svc.events."a.b".policy',
      /standrad/,
      /'standard'\?/,
    ],
    [
      'an unknown breaker',
      row('breaker: kafkaBraker'),
      '6:18 services.svc.events."a.b".breaker',
      /./,
      /'kafkaBreaker'\?/,
    ],
    [
      'an unknown dependency',
      row('dependencies: [sms, smpt]'),
      '6:29 services.svc.events."a.b".dependencies.1',
      /smpt/,
      /'smtp'\?/,
    ],
    [
      'an unknown store',
      row('idempotency: { store: mongo }'),
      '6:31 services.svc.events."a.b".idempotency.store',
      /mongo/,
      /redis/,
    ],
    [
      'an unknown pattern',
      row('idempotency: { pattern: dedupe }'),
      '6:33 services.svc.events."a.b".idempotency.pattern',
      /dedupe/,
      /'dedup'\?/,
    ],
    [
      'an unknown placeholder',
      row('deadLetter: { destination: "{svc}.dlq" }'),
      '6:36 services.svc.events."a.b".deadLetter.destination',
      /\{svc\}/,
      /\{service\}/,
    ],
    [
      'a number out of range',
      'version: 1\ndefaults: { concurrency: 0 }\n',
      '2:26 defaults.concurrency',
      /0/,
      /from 1 to/,
    ],
    [
      'an override without a reason',
      row('overrides: [{ match: { status: 404 }, category: transient }]'),
      '6:21 services.svc.events."a.b".overrides.0.reason',
      /nothing/,
      /text/,
    ],
    [
      'an override that matches all',
      row('overrides: [{ match: {}, category: transient, reason: x }]'),
      '6:30 services.svc.events."a.b".overrides.0.match',
      /mapping/,
      /at least one of code/,
    ],
    [
      'a threshold in the wrong unit',
      row('alerts: { oldest: { above: 10 } }'),
      '6:36 services.svc.events."a.b".alerts.oldest.above',
      /10/,
      /duration/,
    ],
    [
      'two thresholds',
      row('alerts: { depth: { above: 1, from: 2 } }'),
      '6:26 services.svc.events."a.b".alerts.depth',
      /mapping/,
      /not both/,
    ],
    ['neither off nor a mapping', row('poison: on'), '6:17 services.svc.events."a.b".poison', /'on'/, /off/],
    [
      'a policy that is neither name nor mapping',
      row('policy: 5'),
      '6:17 services.svc.events."a.b".policy',
      /5/,
      /name of a policy, or a mapping/,
    ],
    [
      'a star in the middle',
      'version: 1\nservices:\n  s:\n    events:\n      a.*.b: {}\n',
      '5:7 services.s.events."a.*.b"',
      /a\.\*\.b/,
      /star at its end/,
    ],
    [
      'a bad service name',
      'version: 1\nservices:\n  "a b": {}\n',
      '3:3 services."a b"',
      /a b/,
      /letters, digits/,
    ],
    [
      'a type in two topics',
      'version: 1\ntopics:\n  x: [a.*]\n  y: [b, a.*]\n',
      '4:10 topics.y.1',
      /a\.\*/,
      /in 'x' already/,
    ],
    [
      'the built-in policy again',
      'version: 1\npolicies:\n  standard: { retries: 2 }\n',
      '3:3 policies.standard',
      /built-in/,
      /extends: standard/,
    ],
  ])('%s', (_, text, place, found, expected) => {
    const [first] = problemsIn(text)
    expect(`${first?.line}:${first?.column} ${first?.path}`).toBe(place)
    expect(first?.found).toMatch(found)
    expect(first?.expected).toMatch(expected)
  })

  it('circles, but not a name that extends the built-in one it replaces', () => {
    const lines = [
      'a: { extends: b }',
      'b: { extends: a }',
      'patient: { extends: patient }',
      'c: { extends: a }',
    ]
    const text = `version: 1\npolicies:\n${lines.map((line) => `  ${line}\n`).join('')}`
    expect(places(text)).toEqual([
      '3:17 policies.a.extends',
      '4:17 policies.b.extends',
      '6:17 policies.c.extends',
    ])
    expect(places('version: 1\nbreakers:\n  a: { extends: a1 }\n  a1: { extends: a }\n')).toHaveLength(2)
    expect(places('version: 1\ndependencies:\n  a: { extends: b }\n  b: { extends: a }\n')).toHaveLength(2)
  })

  it('everything at once, in the order of the file', () => {
    const text = [
      'version: 1',
      'policies:',
      '  mine: { backoff: fixed, retries: 2 }',
      'services:',
      '  one:',
      '    policy: nope',
      '    conkurrency: 3',
      '  two:',
      '    timeout: §{MISSING}',
      '    timeout: 3s',
      '    order: sideways',
    ].join('\n')
    expect(places(text)).toEqual([
      '3:3 policies.mine',
      '6:13 services.one.policy',
      '7:5 services.one.conkurrency',
      '9:14 services.two.timeout',
      '10:5 services.two.timeout',
      '11:12 services.two.order',
    ])
  })

  it('as one error with a code, and a message that lists them', () => {
    const read = () => readRules('version: 1\npolicies: { standard: }\nservises: {}\n', 'my/book.yaml')
    expect(read).toThrow(ReprieveError)
    expect(read).toThrow(expect.objectContaining({ code: 'bad_rules' }))
    expect(read).toThrow(/^my\/book.yaml has 2 problems\n {2}my\/book\.yaml:2:13 policies\.standard: found /)
    expect(read).toThrow(
      /my\/book\.yaml:3:1 servises: found the unknown key 'servises'; expected .*'services'/,
    )
  })

  it('but only the first fifty of very many', () => {
    const text = `version: 1\n${Array.from({ length: 80 }, (_, index) => `x${index}: 1\n`).join('')}`
    expect(problemsIn(text)).toHaveLength(80)
    expect(() => readRules(text, 'book.yaml')).toThrow(/and 30 more$/)
  })
})
