import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import * as memory from '../../src/adapters/memory/index.ts'
import * as sqlite from '../../src/adapters/sqlite/index.ts'
import type { Event } from '../../src/core/event.ts'
import { freshTrail } from '../../src/core/trail.ts'
import { readRules } from '../../src/rules/index.ts'
import { createApp } from '../../src/runtime/app.ts'
import { testTools } from '../../src/testing/tools.ts'

const folder = mkdtempSync(join(tmpdir(), 'reprieve-turns-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const BOOK = `
version: 1
topics: { tickets: ['ticket.*'] }
services:
  s:
    concurrency: 10
    window: 20
    events: { ticket.pressing: { priority: high }, ticket.opened: {} }
`
const TO = { service: 's', topic: 'tickets', consumerGroup: 's' }

interface Done {
  readonly id: string
  readonly at: number
}

/** A window that binds: no more than 20 of thousands are in hand. Each event says how long it takes. */
const stage = async (url: string) => {
  const tools = testTools()
  const { clock } = tools
  const { open } = url === 'memory:' ? memory : sqlite
  const { transport, store } = await open(url, tools)
  const { companion: _, ...alone } = store!
  const book = readRules(BOOK, 'test.yaml')
  const app = createApp({
    book,
    transport: transport!,
    store: { ...alone, letters: store!.letters! },
    tools,
  })
  const done: Done[] = []
  app.service('s').on('ticket.*', async (event) => {
    await clock.sleep((event.data as { takes: number }).takes)
    done.push({ id: event.id, at: clock.now() })
  })
  await clock.runUntil(app.start())
  onTestFinished(() => clock.runUntil(app.drain(0)))

  const made = (name: string, count: number, takes: number, over: Partial<Event> = {}): readonly Event[] =>
    Array.from({ length: count }, (_, n) => ({
      ...{ id: `${name}-${n}`, source: 'test', type: 'ticket.opened', extensions: {}, headers: {} },
      ...{ datacontenttype: 'application/json', data: Buffer.from(JSON.stringify({ takes })) },
      ...over,
    }))
  const publish = (events: readonly Event[]) => clock.runUntil(transport!.publish('tickets', events))
  const retry = (events: readonly Event[]) =>
    clock.runUntil(
      transport!.forward(
        TO,
        events.map((event) => ({ event, trail: { ...freshTrail, spent: 1 }, due: clock.now() })),
      ),
    )
  const placesOf = (name: string) => done.flatMap(({ id }, at) => (id.startsWith(`${name}-`) ? [at] : []))
  /** Until so many of that name are done; the rest is given back. */
  const through = async (name: string, count: number) => {
    while (placesOf(name).length < count) await clock.advance(10)
    expect(placesOf(name)).toHaveLength(count)
    return placesOf(name).at(-1)!
  }
  return { clock, done, made, publish, retry, placesOf, through }
}

describe.each(['memory', 'sqlite'])('a backlog far beyond the window, on %s', (adapter) => {
  const at = (name: string) => (adapter === 'memory' ? 'memory:' : `sqlite:${join(folder, `${name}.db`)}`)

  it('fresh events pass thousands of due retries, which have a fifth meanwhile', async () => {
    const { made, publish, retry, placesOf, through } = await stage(at('fresh'))
    await retry(made('again', 2000, 10))
    await publish(made('fresh', 100, 10))
    // four turns of five, and what was in hand before they came
    expect(await through('fresh', 100)).toBeLessThan(100 / 0.8 + 40)
    expect(placesOf('again').length).toBeGreaterThanOrEqual(20)
  })

  it('retries pass thousands of fresh events, a fifth of the time', async () => {
    const { made, publish, retry, through } = await stage(at('retries'))
    await publish(made('fresh', 2000, 10))
    await retry(made('again', 40, 10))
    const last = await through('again', 40)
    expect(last).toBeGreaterThan(160)
    expect(last).toBeLessThan(300)
  })

  it('slow retries leave fresh events the rest of the slots', async () => {
    const { made, publish, retry, clock, through } = await stage(at('slow'))
    await publish(made('fresh', 400, 10))
    await retry(made('again', 100, 600_000))
    const from = clock.now()
    expect(await through('fresh', 400)).toBe(399)
    // six slots of ten at least: no more than a fifth of the window is out of retries
    expect(clock.now() - from).toBeLessThan(2000)
  })

  it('urgent events pass thousands of calm ones, by their own priority or that of their row', async () => {
    const { made, publish, placesOf, through } = await stage(at('urgent'))
    await publish(made('calm', 2000, 10))
    await publish(made('patient', 5, 10, { type: 'ticket.pressing', extensions: { priority: 'low' } }))
    await publish(made('critical', 5, 10, { extensions: { priority: 'critical' } }))
    await publish(made('pressing', 5, 10, { type: 'ticket.pressing' }))
    expect(await through('critical', 5)).toBeLessThan(60)
    expect(await through('pressing', 5)).toBeLessThan(60)
    await through('calm', 100)
    expect(placesOf('patient')).toEqual([])
  })
})
