import { describe, expect, it } from 'vitest'
import { type Options, reprieve, Transient } from '../../src/index.ts'
import { readRules } from '../../src/rules/index.ts'
import { testTools } from '../../src/testing/tools.ts'

const world = async (policyFor: NonNullable<Options['policyFor']>) => {
  const tools = testTools()
  const rules = readRules('version: 1\ndefaults: { policy: none }\n', 'reprieve.yaml')
  const app = await reprieve({ rules, policyFor, transport: 'memory:', ...tools })
  const deaths = () => tools.facts.filter(({ is }) => is === 'dead')
  const attempts: string[] = []
  app.service('pipeline').on('*', (event) => {
    attempts.push(event.type)
    throw new Transient('never')
  })
  return { app, attempts, deaths, ...tools }
}

describe('policies from a function in code', () => {
  it('count before what the book says, type by type', async () => {
    const { app, attempts, clock } = await world((service, type) =>
      service === 'pipeline' && type.startsWith('ml.run.')
        ? { attempts: 5, backoff: 'exponential' }
        : undefined,
    )
    await app.start()
    await app.publish('ml.run.started', {})
    await app.publish('other', {})
    await clock.advance(600_000)
    expect(attempts.filter((type) => type === 'ml.run.started')).toHaveLength(5)
    expect(attempts.filter((type) => type === 'other')).toHaveLength(1)
    await clock.runUntil(app.close())
  })

  it('that are none are refused at the start', async () => {
    const { app, clock } = await world(() => 'critcal')
    await expect(app.start()).rejects.toThrow(/policyFor\('pipeline', '\*'\) answered 'critcal'.*'critical'/)
    await clock.runUntil(app.close())
  })

  it('that turn out wrong later are told, and the book decides: nothing stops', async () => {
    const { app, attempts, deaths, facts, clock } = await world((_, type) =>
      type === 'ml.run.started' ? 'critcal' : 'aggressive',
    )
    await app.start()
    await app.publish('ml.run.started', {})
    await clock.advance(600_000)
    expect(attempts).toEqual(['ml.run.started'])
    expect(deaths()).toHaveLength(1)
    expect(facts.filter(({ is }) => is === 'trouble')).toMatchObject([
      { where: 'the rules of pipeline', error: { code: 'bad_rules' } },
    ])
    await clock.runUntil(app.close())
  })
})
