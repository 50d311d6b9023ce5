import { AssertionError } from 'node:assert'
import { describe, expect, it } from 'vitest'
import { Permanent, RateLimited, Transient } from '../core/errors.ts'
import { dead, later } from '../runtime/handler.ts'
import { testApp } from './app.ts'
import { failing, hanging } from './operations.ts'

const TYPE = 'todo.task.created'

const messageOf = (run: () => void): string => {
  try {
    run()
  } catch (error) {
    expect(error).toBeInstanceOf(AssertionError)
    return (error as Error).message
  }
  throw new Error('it passed')
}

describe('an app in virtual time', () => {
  it('finishes the 30 minutes of a critical policy at once, and tells each wait', async () => {
    await using app = await testApp({ yaml: 'version: 1\ndefaults: { policy: critical }' })
    app.service('mail').on(TYPE, failing(13))
    const id = await app.publish(TYPE, {})
    await app.settled()
    app.expectDead({ type: TYPE, reason: 'attempts exhausted', category: 'transient', attempts: 13 })
    expect(app.retries(id)).toHaveLength(12)
    app.expectDelays(id, [
      [500, 1000],
      [1000, 2000],
      [2000, 4000],
      [4000, 8000],
      [8000, 16_000],
      [16_000, 32_000],
      [32_000, 64_000],
      [64_000, 120_000],
      ...Array.from({ length: 4 }, () => [60_000, 120_000] as const),
    ])
  })

  it('waits for what handlers publish, put off or are told to wait for', async () => {
    await using app = await testApp()
    let asked = 0
    app.service('first').on('a.happened', async (_, ctx) => {
      if (++asked === 1) return later('3h')
      await ctx.publish('b.happened', 1)
    })
    app.service('second').on('b.happened', failing(1, new RateLimited('slow down', { retryAfter: 60_000 })))
    app.service('third').on('b.happened', () => dead('never'))
    await app.publish('a.happened')
    await app.settled()
    app.expectDone({ type: 'a.happened', service: 'first', attempt: 1, times: 1 })
    app.expectDone({ type: 'b.happened', service: 'second', attempt: 2, times: 1 })
    app.expectDead({
      service: 'third',
      reason: 'refused',
      kind: 'business',
      destination: '_third.deadletter',
    })
    expect(app.done()).toHaveLength(2)
    expect(app.done('b.happened')).toHaveLength(1)
    expect(app.dead('a.happened')).toEqual([])
  })

  it('has an office, which knows of every letter when all is settled', async () => {
    await using app = await testApp()
    app.service('mail').on(TYPE, failing(1, new Permanent('no such user')))
    await app.publish(TYPE, {})
    await app.settled()
    expect(await app.office.count({ states: ['open'] })).toBe(1)
    await app.office.replay({ service: 'mail' })
    await app.settled()
    expect(await app.office.count({ states: ['resolved'] })).toBe(1)
    app.expectDone(TYPE)
  })

  it('is settled however many letters are buried at once, and after', async () => {
    await using app = await testApp({
      yaml: 'version: 1\ndefaults: { policy: { backoff: fixed, delay: 10s, jitter: none, retries: 2 } }',
    })
    app.service('s').on('t', ({ data }) => {
      throw data.slow ? new Transient('not now') : new Permanent('never')
    })
    for (const slow of [true, false, false]) await app.publish('t', { slow })
    await app.settled({ most: 60_000 })
    expect(await app.office.count({})).toBe(3)
  })

  it('is settled when nothing was ever published', async () => {
    await using app = await testApp()
    app.service('mail').on(TYPE, () => undefined)
    await app.settled()
    expect(app.done()).toEqual([])
  })

  it('says what is still on its way when its bound is reached', async () => {
    await using app = await testApp()
    app.service('mail').on(TYPE, () => later('1m', 'for ever and ever'))
    const id = await app.publish(TYPE, {})
    const told = await app.settled({ most: 600_000 }).catch((error: Error) => error.message)
    expect(told).toContain('still not settled after 600000 ms of virtual time')
    expect(told).toContain(`still on their way: ${id}`)
    expect(told).toContain('held for 60000 ms, for ever and ever')
  })

  it('ends what hangs by its timeout, and says what to do about timers', async () => {
    await using app = await testApp({ yaml: 'version: 1\ndefaults: { policy: none, timeout: 2s }' })
    app.service('mail').on(TYPE, hanging())
    await app.publish(TYPE, {})
    await app.settled()
    app.expectDead({ kind: 'timeout' })
    expect(messageOf(() => app.expectDone(TYPE))).toContain('virtual time does not wait for those')
  })

  it('takes the same turns for the same seed', async () => {
    const waits = async (seed: number) => {
      await using app = await testApp({ seed })
      app.service('mail').on(TYPE, failing(3))
      const id = await app.publish(TYPE, {})
      await app.settled()
      return app.retries(id).map(({ delay }) => delay)
    }
    const first = await waits(3)
    expect(await waits(3)).toEqual(first)
    expect(await waits(4)).not.toEqual(first)
  })
})

describe('assertions', () => {
  const failed = async () => {
    const app = await testApp()
    app.service('mail').on(TYPE, failing(2, new Transient('no answer')))
    const id = await app.publish(TYPE, {})
    await app.settled()
    return { app, id }
  }

  it('tell what was wanted, what was found, and the story', async () => {
    const { app, id } = await failed()
    const message = messageOf(() => app.expectDead({ type: TYPE, reason: 'permanent' }))
    expect(message).toContain(`expected a dead letter with type ${TYPE}, reason permanent; found none at all`)
    expect(message).toContain(`mail ${TYPE} ${id}: attempt 1 failed, transient`)
    expect(message).toContain('no answer')
    expect(message).toContain(`mail ${TYPE} ${id}: done, attempt 3`)
    expect(message).not.toContain('virtual time does not wait')
    await app.close()
  })

  it('count where they are told to', async () => {
    const { app, id } = await failed()
    app.expectDone({ event: id, attempt: 3, times: 1 })
    expect(messageOf(() => app.expectDone({ type: TYPE, times: 2 }))).toContain(
      `expected 2 × success with type ${TYPE}; found 1 fitting, of`,
    )
    expect(messageOf(() => app.expectDone({ attempt: 1 }))).toContain('attempt 3')
    app.expectDead({ times: 0 })
    await app.close()
  })

  it.each([
    ['too few', [[500, 1000]], 'to wait 1 times, [500–1000] ms; it waited 2 times'],
    [
      'out of range',
      [
        [500, 1000],
        [1, 2],
      ],
      'retry 2 waited',
    ],
    [
      'too many',
      [
        [500, 1000],
        [1000, 2000],
        [2000, 4000],
      ],
      'it waited 2 times',
    ],
  ] as const)('refuse delays that are %s', async (_, ranges, told) => {
    const { app, id } = await failed()
    expect(messageOf(() => app.expectDelays(id, ranges))).toContain(told)
    await app.close()
  })
})

describe('faults', () => {
  it('let publishing fail as planned, whether or not it was done', async () => {
    await using app = await testApp()
    app.service('mail').on(TYPE, () => undefined)
    app.faults.plan('publish', 'fails', 'answer lost')
    await expect(app.publish(TYPE, 1, { id: 'e1' })).rejects.toMatchObject({ code: 'unavailable' })
    await app.settled()
    expect(app.done()).toEqual([])
    await expect(app.publish(TYPE, 1, { id: 'e1' })).rejects.toMatchObject({ code: 'unavailable' })
    await app.publish(TYPE, 1, { id: 'e1' })
    await app.settled()
    app.expectDone({ event: 'e1', times: 1 })
    expect(app.facts.filter(({ is }) => is === 'duplicate')).toHaveLength(1)
    expect(app.faults.count('publish')).toBe(2)
  })

  it.each(['fails', 'answer lost', 'lost'] as const)(
    'let a settlement go wrong (%s), and the effect stays single',
    async (fault) => {
      await using app = await testApp()
      let calls = 0
      app.service('mail').on(TYPE, () => {
        calls++
      })
      await app.start()
      app.faults.plan('settle', fault)
      await app.publish(TYPE, {})
      await app.settled()
      expect(app.faults.count('settle')).toBe(1)
      // a delivery that was taken from us runs again: with the ledger in the same commit its effect was not remembered
      expect(calls).toBe(fault === 'lost' ? 2 : 1)
    },
  )

  it('stop all work while the ledger is down, and lose nothing', async () => {
    await using app = await testApp({ ledger: 'apart' })
    app.service('mail').on(TYPE, () => undefined)
    app.faults.down('claim')
    await app.publish(TYPE, {})
    await app.clock.advance(60_000)
    expect(app.done()).toEqual([])
    expect(app.dead()).toEqual([])
    app.faults.mend()
    await app.settled()
    app.expectDone({ type: TYPE, attempt: 1, times: 1 })
  })

  it('fall by dice where they are asked to', async () => {
    await using app = await testApp()
    app.service('mail').on(TYPE, () => undefined)
    let n = 0
    app.faults.down('receive', () => (n++ % 2 === 0 ? 'fails' : 'ok'))
    for (let i = 0; i < 10; i++) await app.publish(TYPE, i)
    await app.settled()
    app.expectDone({ times: 10 })
    expect(app.faults.count('receive')).toBeGreaterThan(0)
  })
})
