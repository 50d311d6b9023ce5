import { describe, expect, it } from 'vitest'
import { readRules } from './load.ts'
import { BadRules, type Problem } from './problem.ts'

const problemsIn = (text: string): readonly Problem[] => {
  try {
    readRules(text, 'book.yaml')
  } catch (error) {
    expect(error).toBeInstanceOf(BadRules)
    return (error as BadRules).problems
  }
  return []
}

/** `line:column path` of each problem. */
const places = (text: string) => problemsIn(text).map(({ line, column, path }) => `${line}:${column} ${path}`)

describe('policies that do not hold together', () => {
  const policy = (text: string) => problemsIn(`version: 1\npolicies:\n  p: { ${text} }\n`)

  it.each([
    ['backoff: fixed, delay: 1s, multiplier: 2', '3:35', /'multiplier' beside backoff fixed/],
    ['backoff: fixed', '3:3', /without 'delay'/],
    ['backoff: linear', '3:3', /without 'step'/],
    ['backoff: tiers', '3:3', /without 'tiers'/],
    ['backoff: none', '3:3', /without a limit/],
    ['step: 5s', '3:8', /'step' beside backoff exponential/],
    ['extends: none, jitter: full', '3:23', /'jitter' beside backoff none/],
    ['retries: 2, attempts: 3', '3:20', /both/],
    ['backoff: tiers, tiers: []', '3:31', /no tier/],
    ['jitter: 120%', '3:16', /120%/],
    ['multiplier: 0.5', '3:20', /0.5/],
  ])('%s', (text, place, found) => {
    const [first, ...more] = policy(text)
    expect(`${first?.line}:${first?.column}`).toBe(place)
    expect(first?.found).toMatch(found)
    expect(more).toEqual([])
  })

  it('with tiers that do not rise, or lack what they need', () => {
    const tier = (text: string) => `      - { ${text} }\n`
    const tiers =
      tier('upTo: 3, backoff: fixed, delay: 1s') +
      tier('upTo: 3, backoff: none') +
      tier('upTo: 9, backoff: linear') +
      tier('upTo: 12, backoff: none, delay: 1s')
    const found = places(`version: 1\npolicies:\n  p:\n    backoff: tiers\n    tiers:\n${tiers}`)
    expect(found).toEqual([
      '7:17 policies.p.tiers.1.upTo',
      '8:9 policies.p.tiers.2',
      '9:36 policies.p.tiers.3.delay',
    ])
  })

  it('are checked wherever they stand', () => {
    const inline = 'policy: { backoff: fixed }'
    const text = `version: 1\ndefaults: { ${inline} }\nservices:\n  s:\n    ${inline}\n    events:\n      e: { ${inline} }\n`
    expect(places(text)).toEqual([
      '2:13 defaults.policy',
      '5:5 services.s.policy',
      '7:12 services.s.events.e.policy',
    ])
  })
})
