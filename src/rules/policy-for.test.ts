import { describe, expect, it } from 'vitest'
import { readRules } from './load.ts'
import type { PolicyFor } from './policies.ts'
import { withoutPolicyFor, withPolicyFor } from './policy-for.ts'
import { rulesFor } from './resolve.ts'

const written = readRules(
  `version: 1
policies: { gentle: { backoff: linear, step: 10s, attempts: 5, jitter: none } }
services:
  mail: { policy: patient, timeout: 7s }
`,
  'book.yaml',
)

const policyOf = (policyFor: PolicyFor, type = 'a.b') =>
  rulesFor(withPolicyFor(written, policyFor), 'mail', type)

describe('a function in code', () => {
  it('names a policy, before what the book says, and only the policy is its business', () => {
    const rules = policyOf(() => 'critical')
    expect(rules).toMatchObject({ policy: { name: 'critical', retries: 12 }, timeout: 7000 })
    expect(rules.provenance).toMatchObject({
      policy: 'code',
      'policy.definition': 'built in',
      timeout: { file: 'book.yaml', line: 4 },
    })
    expect(policyOf(() => 'gentle').provenance['policy.definition']).toEqual({ file: 'book.yaml', line: 2 })
  })

  it('gives budgets by event name: attempts count the first', () => {
    const budgets: PolicyFor = (_, type) => {
      if (type.startsWith('custom.event.')) return { attempts: 10, backoff: 'exponential' }
      if (type.startsWith('fast.fail.')) return { attempts: 1, backoff: 'none' }
      if (type.startsWith('rate.limited.api.')) return { attempts: 5, backoff: 'linear', step: '10s' }
      return undefined
    }
    expect(policyOf(budgets, 'custom.event.x').policy).toMatchObject({
      retries: 9,
      backoff: { kind: 'exponential' },
    })
    expect(policyOf(budgets, 'fast.fail.x').policy).toMatchObject({ retries: 0, backoff: { kind: 'none' } })
    expect(policyOf(budgets, 'rate.limited.api.x').policy).toMatchObject({
      retries: 4,
      backoff: { kind: 'linear', initial: 10_000, step: 10_000 },
    })
    expect(policyOf(budgets, 'other').policy.name).toBe('patient')
    expect(policyOf(budgets, 'other').provenance.policy).toEqual({ file: 'book.yaml', line: 4 })
  })

  it('may extend what the book or we have', () => {
    expect(policyOf(() => ({ extends: 'gentle', attempts: 2 })).policy).toMatchObject({
      retries: 1,
      backoff: { kind: 'linear', step: 10_000 },
    })
  })

  it.each([
    ['a name nobody knows', () => 'critcal', /answered 'critcal'.*did you mean 'critical'/],
    ['a wrong figure', () => ({ attempts: 0 }), /attempts: found 0; expected a whole number from 1/],
    ['a wrong duration', () => ({ initial: '5 s' }), /initial: found '5 s'; expected a duration/],
    ['a wrong key', () => ({ atempts: 3 }), /atempts: found the unknown key.*did you mean 'attempts'/],
    [
      'what does not go together',
      () => ({ backoff: 'fixed', step: '5s' }),
      /'step' beside backoff fixed[\s\S]*without 'delay'/,
    ],
    ['two limits', () => ({ retries: 2, attempts: 3 }), /both 'retries' and 'attempts'/],
    ['a number', () => 3, /found 3; expected a mapping/],
    ['null', () => null, /answered null/],
    [
      'a throw',
      () => {
        throw new TypeError('no such thing')
      },
      /threw: no such thing/,
    ],
  ])('%s is refused by name of the pair', (_, answer, told) => {
    const run = () => policyOf(answer as unknown as PolicyFor)
    expect(run).toThrow(told)
    expect(run).toThrow(/^policyFor\('mail', 'a\.b'\)/)
    expect(run).toThrow(expect.objectContaining({ code: 'bad_rules' }))
  })

  it('can be taken away', () => {
    expect(rulesFor(withoutPolicyFor(withPolicyFor(written, () => 'none')), 'mail', 'a.b').policy.name).toBe(
      'patient',
    )
  })
})
