import { expect, it } from 'vitest'
import { z } from 'zod'
import { type Fact, reprieve } from '../../src/index.ts'
import { readRules } from '../../src/rules/index.ts'
import { testTools } from '../../src/testing/tools.ts'

const BOOK = `version: 1
defaults:
  policy: { backoff: fixed, delay: 1s, jitter: none, retries: 1, unknownRetries: 1 }
  timeout: 5s
`

const world = async () => {
  const tools = testTools()
  const app = await reprieve({ rules: readRules(BOOK, 'book.yaml', {}), transport: 'memory:', ...tools })
  return { app, ...tools, close: () => tools.clock.runUntil(app.close()) }
}

it('subscribers hear of every death as it happens: by its schema, by crashes of the handler, by a batch out of time', async () => {
  const { app, clock, close } = await world()
  const { service } = app
  service('mail').on('typed', z.object({ to: z.string() }), () => {})
  service('mail').on('crashing', () => {
    throw new TypeError('undefined is no function')
  })
  service('stats').onBatch('slow', (_, { signal }) => new Promise((_, no) => (signal.onabort = no)))
  const heard: string[] = []
  const letters: string[] = []
  const stop = app.listen(['dead'], ({ type, reason, service: who }) =>
    heard.push(`${who} ${type} ${reason}`),
  )
  app.listen((fact) => fact.is === 'letter kept' && letters.push(fact.letter))
  await clock.runUntil(app.start())

  await app.publish('typed', { to: 7 })
  await clock.advance(100)
  expect(heard).toEqual(['mail typed undecodable'])
  await app.publish('crashing', {})
  await clock.advance(3000)
  expect(heard.slice(1)).toEqual(['mail crashing attempts exhausted'])
  await app.publish('slow', {})
  await clock.advance(60_000)
  expect(heard.slice(2)).toEqual(['stats slow attempts exhausted'])
  expect(letters).toHaveLength(3)

  stop()
  await app.publish('typed', {})
  await clock.advance(1000)
  expect(heard).toHaveLength(3)
  expect(letters, 'the other one listens on').toHaveLength(4)
  await close()
})

it('a listener that throws or rejects harms nobody, and is told of in the journal', async () => {
  const { app, clock, facts, close } = await world()
  app.service('mail').on('asked', () => {})
  const heard: Fact['is'][] = []
  app.listen(['done'], () => {
    throw new Error('a bug')
  })
  app.listen(['done'], async () => {
    throw new Error('another')
  })
  const stop = app.listen(({ is }) => {
    heard.push(is)
    // who leaves while it is told takes nobody along
    if (is === 'done') stop()
  })
  app.listen(['done', 'started'], ({ is }) => heard.push(is))
  await clock.runUntil(app.start())
  for (const n of [1, 2]) await app.publish('asked', { n })
  await clock.advance(1000)
  expect(heard.filter((is) => is === 'done')).toHaveLength(3)
  expect(heard.filter((is) => is === 'started')).toHaveLength(2)
  expect(facts.filter(({ is }) => is === 'done')).toHaveLength(2)
  const troubles = facts.flatMap((fact) =>
    fact.is === 'trouble' ? [`${fact.where}: ${fact.error.message}`] : [],
  )
  expect(troubles.toSorted()).toEqual([
    'a listener: a bug',
    'a listener: a bug',
    'a listener: another',
    'a listener: another',
  ])
  await close()
})

it('a journal that throws, or rejects, stops nothing that it is told of, and is warned of once', async () => {
  for (const journal of [
    () => {
      throw new Error('no room for words')
    },
    async () => Promise.reject(new Error('no room for words')),
  ]) {
    const warnings: Error[] = []
    const warn = (warning: Error) => void warnings.push(warning)
    process.on('warning', warn)
    const { clock, dice } = testTools()
    const app = await reprieve({
      rules: readRules(BOOK, 'book.yaml', {}),
      transport: 'memory:',
      clock,
      dice,
      journal,
    })
    const done: string[] = []
    app.service('mail').on('sent', (event, { attempt }) => {
      if (attempt === 1) throw new Error('not yet')
      done.push(event.data.to)
    })
    const heard: string[] = []
    app.listen(['done'], ({ is }) => heard.push(is))
    await clock.runUntil(app.start())
    for (const to of ['ann', 'bob']) await app.publish('sent', { to })
    await clock.advance(5000)
    expect(done.toSorted()).toEqual(['ann', 'bob'])
    expect(heard).toEqual(['done', 'done'])
    await clock.runUntil(app.close())
    process.off('warning', warn)
    expect(warnings.map(({ name, message }) => `${name}: ${message}`)).toEqual([
      expect.stringMatching(/^ReprieveWarning: the journal given to reprieve\(\) failed.*no room for words/),
    ])
  }
})

it('kinds that are no list, and no listener at all, are refused with what to write', async () => {
  await using app = await reprieve({ transport: 'memory:' })
  const listen = app.listen as (...given: unknown[]) => unknown
  expect(() => listen('dead', () => {})).toThrow(/found "dead" for the kinds.*\n.*\['dead'\]/)
  expect(() => listen(['dead'])).toThrow(/found undefined for the listener/)
})
