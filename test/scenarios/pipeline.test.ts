import { cpSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { loadBook } from '../../src/book.ts'
import { type Event, type Fact, reprieve } from '../../src/index.ts'
import { testApp } from '../../src/testing/index.ts'
import { folderWith, root, startCli } from './child.ts'

const EXAMPLE = join(root, 'examples/pipeline')
const SERVICE = 'event-pipeline'

/** A shipped book in virtual time: 600 events of three sources, and a few that are urgent. */
const run = async (name: string) => {
  const app = await testApp({ rules: await loadBook(join(EXAMPLE, name)) })
  onTestFinished(() => app.close())
  const { clock } = app
  const began = clock.now()
  const batches: { batcher: string; at: number; size: number; sources: number }[] = []
  let running = 0
  let most = 0
  app.service(SERVICE).onBatch('ml.run.*', async (events, ctx) => {
    most = Math.max(most, ++running)
    const sources = new Set(events.map(({ source }) => source)).size
    batches.push({ batcher: ctx.batcher!, at: clock.now() - began, size: events.length, sources })
    await clock.sleep(200)
    running--
  })
  await app.start()
  const event = (n: number, more: Event['extensions'] = {}): Event => ({
    id: `e${n}`,
    source: `s${n % 3}`,
    type: 'ml.run.finished',
    extensions: more,
    headers: {},
    data: null,
  })
  for (let n = 0; n < 12; n++) await app.publishEvents([event(n, { priority: n % 2 ? 'high' : 'critical' })])
  await app.publishEvents(Array.from({ length: 600 }, (_, n) => event(100 + n)))
  await app.settled()
  const of = (batcher: string) => batches.filter((each) => each.batcher === batcher)
  expect(app.facts.filter(({ is }) => is === 'done')).toHaveLength(612)
  expect(batches.every(({ sources }) => sources === 1)).toBe(true)
  return { domain: of('domain-events'), critical: of('critical-events'), most, took: clock.now() - began }
}

const sum = (batches: readonly { size: number }[]) => batches.reduce((all, { size }) => all + size, 0)

describe('the shipped profiles of the pipeline', () => {
  it('as published: batches of 25 by source, five at once; urgent ones within 500 ms, two at once', async () => {
    const { domain, critical, most } = await run('reprieve.yaml')
    expect([sum(domain), sum(critical)]).toEqual([600, 12])
    expect(Math.max(...domain.map(({ size }) => size))).toBe(25)
    expect(critical.map(({ at, size }) => [at, size])).toEqual([
      [500, 4],
      [500, 4],
      [700, 4],
    ])
    expect(most).toBeGreaterThanOrEqual(5)
    expect(most).toBeLessThanOrEqual(7)
  })

  it('for high throughput: more is in hand, so that nearly every batch is full', async () => {
    const [calm, tuned] = [await run('reprieve.yaml'), await run('high-throughput.yaml')]
    expect(tuned.domain.map(({ size }) => size)).toEqual(Array(24).fill(25))
    expect(tuned.took).toBeLessThanOrEqual(calm.took)
  })

  it('for low latency: urgent ones leave within 100 ms, all of them at once', async () => {
    const { critical, domain } = await run('low-latency.yaml')
    expect(critical.map(({ at, size }) => [at, size])).toEqual(Array(3).fill([100, 4]))
    expect(sum(domain)).toBe(600)
  })
})

describe('the pipeline example', () => {
  it.each(['reprieve.yaml', 'high-throughput.yaml', 'low-latency.yaml'])(
    'runs by %s on SQLite, fed by another process',
    async (rules) => {
      const cwd = folderWith()
      cpSync(EXAMPLE, cwd, { recursive: true })
      mkdirSync(join(cwd, 'node_modules'))
      symlinkSync(root, join(cwd, 'node_modules/reprieve'))
      const env = { NODE_OPTIONS: '--conditions=source' }
      const args = ['run', 'handlers.ts', '--rules', rules, '--transport', 'sqlite:pipeline.db', '--json']
      const running = startCli(args, { cwd, env })
      await running.said('"started"')

      const publisher = await reprieve({ transport: `sqlite:${join(cwd, 'pipeline.db')}`, office: false })
      const publish = (n: number, type: string, options: object = {}) =>
        publisher.publish(type, { value: n === 30 ? -1 : n }, { id: `e${n}`, source: 'lab', ...options })
      for (let n = 0; n < 60; n++) await publish(n, n % 2 ? 'ml.run.finished' : 'ml.trial.finished')
      for (let n = 60; n < 66; n++) await publish(n, 'system.alarm', { priority: 'critical' })
      await publisher.close()

      const facts = () =>
        running
          .soFar()
          .split('\n')
          .flatMap((line) => (line.endsWith('}') ? [JSON.parse(line) as Fact] : []))
      const ended = () => facts().filter(({ is }) => is === 'done' || is === 'dead')
      await expect.poll(() => ended().length, { interval: 200 }).toBe(66)
      running.signal('SIGTERM')
      expect((await running.ended).code).toBe(0)

      const batches = facts().flatMap((fact) =>
        fact.is === 'batch' || fact.is === 'batch failed' ? [fact] : [],
      )
      expect(batches.filter(({ batcher }) => batcher === 'critical-events').length).toBeGreaterThan(0)
      expect(batches.filter(({ handler, size }) => handler === 'ml.*' && size > 1).length).toBeGreaterThan(0)
      expect(batches.filter(({ is }) => is === 'batch failed')).toMatchObject([{ failed: 1 }])
      expect(facts().filter(({ is }) => is === 'dead')).toMatchObject([{ event: 'e30', reason: 'permanent' }])
    },
  )
})
