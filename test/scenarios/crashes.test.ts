import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { open } from '../../src/adapters/memory/index.ts'
import { readLetter } from '../../src/core/letter-reading.ts'
import { testApp } from '../../src/testing/app.ts'
import { createFaults } from '../../src/testing/faults.ts'
import { testTools } from '../../src/testing/tools.ts'
import { type Mortal, mortal, never } from './mortal.ts'

const LEASE = 10_000
const bookWith = (more: string) => `version: 1
naming: { deadLetter: '{queue}.dlq', quarantine: '{queue}.dlq.quarantine.{kind}' }
services:
  mail: { concurrency: 5, window: 20, lease: 10s${more} }
  other: { concurrency: 5, window: 20, lease: 10s }
`

/** Processes that follow one another on one world: when one has died the next is started. */
const scene = (more = '') => {
  const tools = testTools()
  const { clock, facts } = tools
  const world = randomUUID()
  const faults = createFaults()
  const runs: string[] = []
  /** What was under way at each death. */
  const deaths: (readonly string[])[] = []
  const handling = new Set<string>()
  let current: Mortal

  const start = async (): Promise<Mortal> => {
    const born = await mortal(world, bookWith(more), tools, faults)
    handling.clear()
    for (const service of ['mail', 'other'])
      born.app.service(service).on(`${service}.sent`, async ({ data }) => {
        if (born.dead) return never
        runs.push(data.name)
        handling.add(data.name)
        await tools.clock.sleep(100)
        if (data.kills) {
          deaths.push([...handling])
          return born.die()
        }
        handling.delete(data.name)
      })
    await clock.runUntil(born.app.start())
    current = born
    return born
  }
  return {
    clock,
    facts,
    faults,
    runs,
    deaths,
    start,
    only: (is: string) => facts.filter((fact) => fact.is === is),
    publish: (name: string, more: object = {}) => current.app.publish('mail.sent', { name, ...more }),
    publishOther: (name: string) => current.app.publish('other.sent', { name }),
    drain: () => clock.runUntil(current.app.drain()),
    letters: async () => {
      const { transport } = await open(`memory:${world}`, tools)
      const inlet = await transport.collect({ name: 'mail.mail.sent.dlq.quarantine.crash' })
      const got = await clock.runUntil(inlet.receive(10, AbortSignal.timeout(1000)))
      return got.map(({ parcel }) => readLetter(parcel.event)!)
    },
  }
}

describe('a message that kills its process', () => {
  it('is quarantined after three deaths, and alone from the second on', async () => {
    const { clock, deaths, runs, start, only, publish, publishOther, letters, drain } = scene()
    await start()
    for (let n = 0; n < 30; n++) await publish(`b${n}`)
    for (let n = 0; n < 5; n++) await publishOther(`o${n}`)
    const killer = await publish('killer', { kills: true })
    for (let n = 30; n < 60; n++) await publish(`b${n}`)
    for (let life = 1; life <= 3; life++) {
      await clock.advance(3 * LEASE)
      expect(deaths).toHaveLength(life)
      await start()
    }
    await clock.advance(5 * LEASE)
    expect(deaths).toHaveLength(3)
    expect(deaths[0]!.length).toBeGreaterThan(1)
    expect(deaths.slice(1)).toEqual([['killer'], ['killer']])
    expect(runs.filter((name) => name === 'killer')).toHaveLength(3)
    expect(only('dead')).toMatchObject([{ reason: 'poison', event: killer }])
    expect(only('done')).toHaveLength(65)
    // those that were under way with it ran once more, and nobody else
    const again = runs.filter((name, at) => name !== 'killer' && runs.indexOf(name) < at)
    expect(again.length).toBeLessThan(deaths[0]!.length)
    const [letter] = await letters()
    expect(letter).toMatchObject({
      kind: 'crash',
      reason: 'poison',
      error: 'the process died 3 times on it',
      trail: { spent: 1, records: [{ attempt: 1, kind: 'crash' }] },
    })
    await drain()
  })

  it.each(['upsert', 'state'])('is quarantined after three deaths with %s too', async (pattern) => {
    const { clock, deaths, start, only, publish, drain, letters } = scene(
      `, idempotency: { pattern: ${pattern} }`,
    )
    await start()
    for (let n = 0; n < 30; n++) await publish(`b${n}`)
    await publish('killer', { kills: true })
    for (let n = 30; n < 60; n++) await publish(`b${n}`)
    for (let life = 1; life <= 3; life++) {
      await clock.advance(3 * LEASE)
      await start()
    }
    await clock.advance(5 * LEASE)
    expect(deaths).toHaveLength(3)
    expect(deaths.at(-1)).toEqual(['killer'])
    expect(only('dead')).toHaveLength(1)
    expect(new Set(only('done').map((fact) => 'event' in fact && fact.event)).size).toBe(60)
    expect((await letters())[0]).toMatchObject({ error: 'the process died 3 times on it' })
    await drain()
  })

  it('is not quarantined after its first death, whatever the rules say: others were under way too', async () => {
    const { clock, deaths, start, only, publish, drain } = scene(', poison: { crashes: 1 }')
    await start()
    for (let n = 0; n < 10; n++) await publish(`b${n}`)
    await publish('killer', { kills: true })
    await clock.advance(3 * LEASE)
    await start()
    await clock.advance(3 * LEASE)
    expect(deaths).toHaveLength(2)
    await start()
    await clock.advance(3 * LEASE)
    expect(only('dead')).toHaveLength(1)
    expect(only('done')).toHaveLength(10)
    await drain()
  })
})

it('a normal deploy makes nobody a suspect', async () => {
  const { clock, start, only, publish, runs, drain } = scene()
  await start()
  for (let n = 0; n < 60; n++) await publish(`b${n}`)
  await clock.advance(150)
  await drain()
  expect(only('done').length).toBeLessThan(30)
  await start()
  // five at a time, 100 ms each: at once, with no lease to wait for
  await clock.advance(1200)
  expect(only('done')).toHaveLength(60)
  expect(runs).toHaveLength(60)
  expect(only('alone')).toEqual([])
  await drain()
})

it('a suspect whose beginning can not be marked is put off, and stays one', async () => {
  const { clock, faults, start, only, publish, drain } = scene()
  const { die } = await start()
  await publish('bystander')
  await clock.advance(50)
  void die()
  await clock.advance(LEASE)
  faults.down('begin')
  await start()
  await clock.advance(3000)
  expect(only('done')).toEqual([])
  expect(only('trouble').length).toBeGreaterThan(1)
  faults.mend()
  await clock.advance(2000)
  expect(only('alone').at(-1)).toMatchObject({ crashes: 1 })
  expect(only('done')).toHaveLength(1)
  await drain()
})

it('a handler that ignores its signal and never ends keeps no slot, and its late answer changes nothing', async () => {
  await using app = await testApp({
    yaml: `version: 1
services: { mail: { concurrency: 1, timeout: 5s, policy: { backoff: fixed, delay: 1s, jitter: none, retries: 1 } } }`,
  })
  const late: (() => void)[] = []
  app
    .service('mail')
    .on('mail.sent', ({ data }) =>
      data.hangs ? new Promise((resolve) => late.push(() => resolve(undefined))) : undefined,
    )
  const hangs = await app.publish('mail.sent', { hangs: true })
  const fine = await app.publish('mail.sent', {})
  await app.settled()
  expect(app.done().map(({ event }) => event)).toEqual([fine])
  expect(app.dead()).toMatchObject([{ event: { id: hangs }, reason: 'attempts exhausted' }])
  expect(late).toHaveLength(2)
  const before = app.facts.length
  for (const answer of late) answer()
  await app.clock.advance(10_000)
  expect(app.facts).toHaveLength(before)
})
