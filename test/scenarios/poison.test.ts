import { describe, expect, it } from 'vitest'
import { reprieve, Transient } from '../../src/index.ts'
import { readRules } from '../../src/rules/index.ts'
import { testApp } from '../../src/testing/index.ts'
import { testTools } from '../../src/testing/tools.ts'

const BOOK = `version: 1
naming: { deadLetter: '{queue}.dlq', quarantine: '{queue}.dlq.quarantine.{kind}' }
policies:
  steady: { backoff: fixed, delay: 1s, jitter: none, retries: 10, unknownRetries: 10, window: 1h }
services:
  mail: { policy: steady }
`

const world = async (book = BOOK) => {
  const tools = testTools()
  const app = await reprieve({ rules: readRules(book, 'reprieve.yaml', {}), transport: 'memory:', ...tools })
  const only = (is: string) => tools.facts.filter((fact) => fact.is === is)
  return { app, only, close: () => tools.clock.runUntil(app.close()), ...tools }
}

const BAD = { bad: true }

describe('a message that fails again and again', () => {
  it('goes to quarantine with its third failure while others succeed, and they are not touched', async () => {
    const { app, clock, only, close } = await world()
    let tries = 0
    app.service('mail').on('order.placed', (event) => {
      if (!event.data.bad) return
      tries++
      throw new TypeError('Cannot read properties of undefined')
    })
    await app.start()
    await app.publish('order.placed', BAD)
    for (let second = 0; second < 5; second++) {
      await app.publish('order.placed', { second })
      await clock.advance(1000)
    }
    expect(tries).toBe(3)
    expect(only('dead')).toMatchObject([{ reason: 'poison', to: 'mail.order.placed.dlq.quarantine.handler' }])
    expect(only('done')).toHaveLength(5)
    const [kept] = await clock.runUntil(app.office.list({}, 10))
    expect(kept?.letter).toMatchObject({ reason: 'poison', trail: { spent: 3 } })
    await close()
  })

  it('is an outage where nobody succeeds, and goes on by its policy', async () => {
    const { app, clock, only, close } = await world()
    let down = true
    app.service('mail').on('order.placed', () => {
      if (down) throw new TypeError('fetch failed')
    })
    await app.start()
    for (let n = 0; n < 5; n++) await app.publish('order.placed', { n })
    await clock.advance(5000)
    expect(only('retry').length).toBeGreaterThan(15)
    down = false
    await clock.advance(5000)
    expect(only('dead')).toEqual([])
    expect(only('done')).toHaveLength(5)
    await close()
  })

  it('counts only what the rules count: a transient failure is no poison, unless they say so', async () => {
    const counting = `${BOOK.replace('{ policy: steady }', '{ policy: steady, poison: { categories: [transient], failures: 2 } }')}`
    for (const [book, dead] of [
      [BOOK, 0],
      [counting, 1],
      [counting.replace('{ categories: [transient], failures: 2 }', 'off'), 0],
    ] as const) {
      const { app, clock, only, close } = await world(book)
      app.service('mail').on('order.placed', (event) => {
        if (event.data.bad) throw new Transient('busy')
      })
      await app.start()
      await app.publish('order.placed', BAD)
      for (let second = 0; second < 8; second++) {
        await app.publish('order.placed', { second })
        await clock.advance(700)
      }
      expect(only('dead')).toHaveLength(dead)
      await close()
    }
  })

  it('is counted anew by every process when an operator has let one of its kind out of quarantine', async () => {
    const slow = BOOK.replace('delay: 1s', 'delay: 10s')
    for (const released of [true, false]) {
      // the office knows the service by the store only, as if it were another process
      await using app = await testApp({ yaml: slow })
      const { clock } = app
      app.service('mail').on('order.*', (event) => {
        if (event.data.bad) throw new TypeError('Cannot read properties of undefined')
      })
      const dead = () => app.facts.flatMap((fact) => (fact.is === 'dead' ? [fact.event] : []))
      await app.publish('order.placed', BAD, { id: 'first' })
      const pass = async (seconds: number) => {
        for (let second = 0; second < seconds; second++) {
          await app.publish('order.placed', { second })
          await clock.advance(1000)
        }
      }
      await pass(5)
      await app.publish('order.placed', BAD, { id: 'second' })
      await pass(17)
      expect(dead()).toEqual(['first'])
      if (released) await clock.runUntil(app.office.release({}, { reason: 'mended, in part' }))
      await pass(6)
      // its third failure, and the first that counts
      expect(dead()).toEqual(released ? ['first'] : ['first', 'second'])
      if (!released) continue
      await pass(20)
      expect(dead()).toEqual(['first', 'second'])
    }
  })
})
