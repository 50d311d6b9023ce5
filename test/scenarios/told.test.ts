import { describe, expect, it } from 'vitest'
import type { Fact } from '../../src/contracts/journal.ts'
import { dead, later, Permanent, Transient } from '../../src/index.ts'
import { testApp } from '../../src/testing/index.ts'

const YAML = `version: 1
services:
  mail:
    timeout: 5s
    policy: { backoff: fixed, delay: 1s, jitter: none, retries: 1, window: 10m }
`

const CORRELATION = 'basket-7'
const schema = {
  '~standard': {
    version: 1,
    vendor: 'by hand',
    validate: (value: unknown) =>
      (value as { n?: unknown }).n === 1 ? { value } : { issues: [{ message: 'n is not 1' }] },
  },
} as const

/** What an event came to, told by the facts about it: whoever searches for its correlation id must find all of them. */
const toldOf = (facts: readonly Fact[]): readonly string[] =>
  facts.flatMap((fact) => {
    if ('correlation' in fact && fact.correlation === CORRELATION) return [fact.is]
    return fact.is === 'trouble' && fact.about?.correlation === CORRELATION ? ['trouble'] : []
  })

const errorsOf = (facts: readonly Fact[]): readonly string[] =>
  facts.flatMap((fact) => {
    if (fact.is === 'failed' && fact.correlation === CORRELATION) return [fact.failure.message]
    return fact.is === 'trouble' && fact.about?.correlation === CORRELATION ? [fact.error.message] : []
  })

type App = Awaited<ReturnType<typeof testApp>>

const ways: readonly {
  readonly way: string
  readonly run: (app: App) => void
  readonly data?: unknown
  readonly told: readonly string[]
  readonly error: RegExp
}[] = [
  {
    way: 'a transient error',
    run: (app) => app.service('mail').on('order.placed', () => Promise.reject(new Transient('not now'))),
    told: ['failed', 'retry', 'failed', 'dead'],
    error: /not now/,
  },
  {
    way: 'a permanent one',
    run: (app) =>
      app.service('mail').on('order.placed', () => {
        throw new Permanent('never')
      }),
    told: ['failed', 'dead'],
    error: /never/,
  },
  {
    way: 'what is no Error at all',
    run: (app) =>
      app.service('mail').on('order.placed', () => {
        throw 'a string'
      }),
    told: ['failed', 'retry', 'failed', 'dead'],
    error: /a string/,
  },
  {
    way: 'a handler that never answers',
    run: (app) => app.service('mail').on('order.placed', () => new Promise(() => {})),
    told: ['failed', 'retry', 'failed', 'dead'],
    error: /took longer than 5000 ms/,
  },
  {
    way: 'data that does not fit its schema',
    run: (app) => app.service('mail').on('order.placed', schema, () => {}),
    data: { n: 2 },
    told: ['failed', 'dead'],
    error: /does not fit its schema/,
  },
  {
    way: 'a handler that refuses',
    run: (app) => app.service('mail').on('order.placed', () => dead('not ours')),
    told: ['failed', 'dead'],
    error: /not ours/,
  },
]

describe('every error', () => {
  it.each(ways)('is told with the correlation id: $way', async ({ run, data, told, error }) => {
    await using app = await testApp({ yaml: YAML })
    run(app)
    await app.publish('order.placed', data ?? { n: 1 }, { correlationId: CORRELATION })
    await app.settled()
    expect(toldOf(app.facts)).toEqual(told)
    const errors = errorsOf(app.facts)
    expect(errors.length).toBeGreaterThan(0)
    for (const each of errors) expect(each).toMatch(error)
  })

  it('of a settlement that would not go is told with it too', async () => {
    await using app = await testApp({ yaml: YAML })
    app.service('mail').on('order.placed', () => {})
    await app.start()
    app.faults.plan('settle', 'fails', 'answer lost')
    await app.publish('order.placed', { n: 1 }, { correlationId: CORRELATION })
    await app.settled()
    expect(errorsOf(app.facts)).toEqual(['settle: failing on purpose', 'settle: failing on purpose'])
  })

  it('that was put off is told as held, with the reason', async () => {
    await using app = await testApp({ yaml: YAML })
    let first = true
    app.service('mail').on('order.placed', () => {
      if (!first) return undefined
      first = false
      return later('1m', 'the shop is closed')
    })
    await app.publish('order.placed', { n: 1 }, { correlationId: CORRELATION })
    await app.settled()
    expect(toldOf(app.facts)).toEqual(['held', 'done'])
    expect(app.facts.find((fact) => fact.is === 'held')).toMatchObject({ because: 'the shop is closed' })
  })
})
