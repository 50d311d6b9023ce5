import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { open as openMemory } from '../../src/adapters/memory/index.ts'
import { open as openSqlite } from '../../src/adapters/sqlite/index.ts'
import type { Letters } from '../../src/contracts/letters.ts'
import type { Tools } from '../../src/contracts/tools.ts'
import type { Delivery, Transport } from '../../src/contracts/transport.ts'
import type { Event } from '../../src/core/event.ts'
import { letterEvent, receiptEvent, toEnvelope } from '../../src/core/letter.ts'
import { letterLine, readLine } from '../../src/core/letter-file.ts'
import { isLetterId, readLetter } from '../../src/core/letter-reading.ts'
import { freshParcel } from '../../src/core/parcel.ts'
import { openIntake } from '../../src/office/ingest.ts'
import { sampleLetters } from '../../src/testing/letters.ts'
import { testTools } from '../../src/testing/tools.ts'
import { describeWith } from '../services/urls.ts'
import { deskAt } from '../stores/postgres.ts'

const START = Date.UTC(2026, 0, 1)
const forever = new AbortController().signal

/** A destination at which these messages lie. */
const destinationWith = (events: readonly Event[]) => {
  const waiting: Delivery[] = events.map((event) => ({
    parcel: freshParcel(event, START),
    redelivered: false,
  }))
  const settled: Delivery[] = []
  const inlet = {
    receive: async (max: number, stop: AbortSignal) => {
      const some = waiting.splice(0, max)
      if (some.length > 0 || stop.aborted) return some
      await new Promise<void>((resolve) => stop.addEventListener('abort', () => resolve(), { once: true }))
      return []
    },
    settle: async (batch: readonly { readonly delivery: Delivery }[]) => {
      settled.push(...batch.map(({ delivery }) => delivery))
      return batch.map(() => 'done' as const)
    },
    lag: async () => ({ waiting: waiting.length }),
    extend: async () => {},
    close: async () => {},
  }
  const transport = { name: 'stub', collect: async () => inlet } as unknown as Transport
  return { transport, settled }
}

const intakeOf = (transport: Transport, letters: Letters, tools: Tools) =>
  openIntake(transport, { name: '_mail-svc.deadletter' }, letters, tools, { replay: 'queue' })

/** Every place of an envelope, nested ones too. */
const placesIn = (value: unknown, path: readonly string[] = []): readonly (readonly string[])[] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([name, each]) => [[...path, name], ...placesIn(each, [...path, name])])
    : []

const deep = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels))

const hostile: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    ...[null, undefined, true, '', 'x', 0, -1, 0.5, 1e308, -8.64e15, 2 ** 60, [], {}, [null], [[1]]],
    ...['+300000-01-01T00:00:00Z', '9999-12-31T23:59:59Z', '1969-01-01', 'Invalid Date', 'NaN'],
    ...['constructor', '__proto__', 'toString', '\u0000', 'half\ud800', 'poison', 'x'.repeat(120_000)],
    ...[JSON.parse('{"__proto__":{"at":1},"constructor":"x"}'), { at: ['x', 1] }, { letter: 5 }],
  ),
  fc.anything({ maxDepth: 2 }),
  fc.constantFrom(10_000, 20_000).map(deep),
)

const put = (at: Record<string, unknown>, [first, ...rest]: readonly string[], value: unknown): void => {
  if (rest.length > 0) {
    const inner = at[first!]
    if (typeof inner === 'object' && inner !== null) put(inner as Record<string, unknown>, rest, value)
  } else if (value === undefined) delete at[first!]
  else Object.defineProperty(at, first!, { value, enumerable: true, configurable: true, writable: true })
}

const text = (value: unknown): string | undefined => {
  try {
    return JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? `${each}` : each))
  } catch {
    return undefined // no message can hold it
  }
}

const sample = sampleLetters(1, START, () => ({
  origin: { to: 'work', address: { queue: 'work' } },
  redacted: { at: ['$.card'] },
  stack: 'Error\n  at x',
}))[0]!
const PLACES = placesIn(toEnvelope(sample))

/** Messages of which some are not what they should be. */
const messages: fc.Arbitrary<readonly Event[]> = fc
  .array(
    fc.array(fc.record({ at: fc.constantFrom(...PLACES), value: hostile }), { minLength: 0, maxLength: 4 }),
    { minLength: 2, maxLength: 8 },
  )
  .map((all) =>
    all.map((changes, n) => {
      const letter = sampleLetters(n + 1, START)[n]!
      const envelope = JSON.parse(
        JSON.stringify(toEnvelope({ ...sample, id: letter.id, event: letter.event })),
      )
      let written = JSON.stringify(envelope)
      for (const { at, value } of changes) {
        put(envelope, at, value)
        written = text(envelope) ?? written
      }
      return { ...letterEvent(letter), data: Buffer.from(written) }
    }),
  )

/** All of them kept, whatever they hold: found, shown, written to a file and read from it. */
const keepsAll = async (letters: Letters, tools: Tools, events: readonly Event[]): Promise<void> => {
  const { transport, settled } = destinationWith(events)
  const intake = await intakeOf(transport, letters, tools)
  await intake.catchUp(forever)
  await intake.close()
  expect(settled.map(({ parcel }) => parcel.event.id).sort()).toEqual(events.map(({ id }) => id).sort())
  for (const { parcel } of settled) {
    const read = readLetter(parcel.event, { now: tools.clock.now() })
    if (read) expect(readLetter(letterEvent(read))).toEqual(read)
  }
  const found = await letters.find({}, 100)
  for (const kept of found) {
    const line = readLine(letterLine({ ...kept, repairs: [] }))
    expect(line).toMatchObject({ is: 'letter', letter: { id: kept.letter.id } })
    expect(kept.letter.buriedAt).toBeLessThanOrEqual(tools.clock.now() + 86_400_000)
  }
  // and looked at and sent like any other
  const ids = found.map(({ letter }) => letter.id)
  const outlines = await letters.outlines({}, 100)
  expect(outlines.map(({ letter }) => letter.id)).toEqual(ids)
  const sendable = await letters.sendables(ids)
  const dataOf = (some: readonly { readonly letter: { readonly id: string; readonly event: Event } }[]) =>
    some.map(({ letter }) => [letter.id, Buffer.from(letter.event.data ?? []).toString('hex')]).sort()
  expect(dataOf(sendable)).toEqual(dataOf(found))
  // two that were given one id are one letter
  const names = new Set(found.map(({ letter }) => letter.id))
  expect(names.size).toBe(found.length)
  for (const letter of events.flatMap((event) => readLetter(event) ?? []))
    if (isLetterId(letter.id)) expect(names.has(letter.id)).toBe(true)
  expect(found.length).toBeGreaterThan(0)
}

describe('envelopes that somebody mangled', () => {
  const folder = mkdtempSync(join(tmpdir(), 'reprieve-hostile-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('are kept in memory, and stop none of their batch', async () => {
    await fc.assert(
      fc.asyncProperty(messages, async (events) => {
        const tools = testTools()
        const { store } = await openMemory('memory:', tools)
        await keepsAll(store!.letters!, tools, events)
        expect(tools.facts.filter(({ is }) => is === 'trouble')).toEqual([])
      }),
      { numRuns: 100 },
    )
  })

  it('are kept in SQLite, and stop none of their batch', async () => {
    let runs = 0
    await fc.assert(
      fc.asyncProperty(messages, async (events) => {
        const tools = testTools()
        const { transport, store } = await openSqlite(`sqlite:${join(folder, `${++runs}.db`)}`, tools)
        await keepsAll(store!.letters!, tools, events)
        expect(tools.facts.filter(({ is }) => is === 'trouble')).toEqual([])
        await transport!.close()
        await store!.close()
      }),
      { numRuns: 40 },
    )
  })

  it('tell which of their fields could not be read, and keep the rest', () => {
    const letter = sampleLetters(1, START)[0]!
    const envelope = { ...toEnvelope(letter), routedToDlqAt: 'soon', failureKind: 'constructor', trail: null }
    const event = { ...letterEvent(letter), data: Buffer.from(JSON.stringify(envelope)) }
    const read = readLetter(event, { now: START + 5 })!
    expect(read.unread).toEqual(['trail', 'routedToDlqAt', 'failureKind'])
    expect(read).toMatchObject({ id: letter.id, buriedAt: START, kind: 'handler', error: letter.error })
    expect(read.trail).toMatchObject({ spent: 0, records: [] })
    expect(readLetter(letterEvent(letter))!.unread).toBeUndefined()
  })

  it('of which no letter can be made are kept as they lay there, with what they tell', async () => {
    const tools = testTools()
    const { store } = await openMemory('memory:', tools)
    const [letter] = sampleLetters(1, START)
    const envelope = { ...toEnvelope(letter!), originalMessage: 7 }
    const event = { ...letterEvent(letter!), data: Buffer.from(JSON.stringify(envelope)) }
    const receipt = {
      ...receiptEvent({ letter: 'x', to: '', outcome: 'done', at: 0, attempts: 1 }),
      data: Buffer.from('{"letter":"x","outcome":"done","at":"soon","attempts":-1}'),
    }
    await keepsAll(store!.letters!, tools, [event, receipt])
    const [found] = await store!.letters!.find({}, 10)
    expect(found!.letter).toMatchObject({
      reason: 'found',
      service: 'mail-svc',
      topic: 'tasks',
      kind: 'schema',
    })
    expect(found!.letter.error).toContain('no answer from smtp.example.org (its envelope has')
    expect(Buffer.from(found!.letter.event.data!).toString()).toBe(JSON.stringify(envelope))
  })
})

describeWith('postgres', 'envelopes that somebody mangled, in PostgreSQL', (url) => {
  it('are kept, and stop none of their batch', async () => {
    const desk = await deskAt(url)
    const letters = (await desk.open()).letters!
    await letters.count({})
    const tables = ['', '_group', '_tally', '_arrival', '_death'].map(
      (rest) => `${desk.schema}.letter${rest}`,
    )
    await fc.assert(
      fc.asyncProperty(messages, async (events) => {
        await desk.ask(`TRUNCATE ${tables.join(', ')}`)
        const tools = testTools()
        await keepsAll(letters, tools, events)
        expect(tools.facts.filter(({ is }) => is === 'trouble')).toEqual([])
      }),
      { numRuns: 25 },
    )
    await desk.close()
  })
})

describe('a letter that the store refuses', () => {
  const refusing = (letters: Letters, refuses: (ids: readonly string[]) => boolean): Letters => ({
    ...letters,
    keep: async (some) => {
      if (refuses(some.map(({ id }) => id))) throw new Error('the row is too large')
      return letters.keep(some)
    },
  })

  const setUp = async (refuses: (ids: readonly string[]) => boolean) => {
    const tools = testTools()
    const { letters } = (await openMemory('memory:', tools)).store!
    const some = sampleLetters(5, START)
    const { transport, settled } = destinationWith(some.map(letterEvent))
    const intake = await intakeOf(transport, refusing(letters!, refuses), tools)
    const stop = new AbortController()
    const running = intake.run(stop.signal)
    const kept = async () => (await letters!.find({}, 10)).map(({ letter }) => letter.id)
    const end = async () => {
      stop.abort()
      await tools.clock.advance(10_000, running)
      await running
    }
    return { tools, some, settled, kept, end }
  }

  it('stays apart and is tried again ever more seldom, while the others are kept', async () => {
    let well = false
    const bad = sampleLetters(5, START)[2]!.id
    const { tools, some, settled, kept, end } = await setUp((ids) => !well && ids.includes(bad))
    await tools.clock.advance(10)
    expect((await kept()).sort()).toEqual(
      some
        .map(({ id }) => id)
        .filter((id) => id !== bad)
        .sort(),
    )
    expect(settled).toHaveLength(4)
    const troubles = () => tools.facts.filter((fact) => fact.is === 'trouble')
    expect(troubles()).toHaveLength(1)
    expect(troubles()[0]).toMatchObject({
      where: 'keeping a letter from _mail-svc.deadletter, which stays apart',
      retryIn: 1000,
      about: { event: bad },
    })
    await tools.clock.advance(60_000)
    expect(troubles().map(({ retryIn }) => retryIn)).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000])
    well = true
    await tools.clock.advance(60_000)
    expect(await kept()).toContain(bad)
    expect(settled).toHaveLength(5)
    await end()
  })

  it.for(['memory', 'sqlite'] as const)(
    'stays at its destination on %s, however often its lease runs out, and is acknowledged once it is kept',
    async (name) => {
      const tools = testTools()
      const file = join(mkdtempSync(join(tmpdir(), 'reprieve-refused-')), 'app.db')
      const open = () =>
        name === 'memory' ? openMemory('memory:', tools) : openSqlite(`sqlite:${file}`, tools)
      const { transport, store } = await open()
      const destinations = [{ name: '_mail-svc.deadletter' }]
      const inlet = await transport!.subscribe({
        ...{ service: 'mail-svc', topic: 'tasks', consumerGroup: 'mail-svc', types: ['*'], order: 'none' },
        ...{ lease: 30_000, window: 100, destinations },
      })
      const some = sampleLetters(5, START)
      await tools.clock.runUntil(
        transport!.publish(
          'tasks',
          some.map(({ event }) => event),
        ),
      )
      const deliveries = await tools.clock.runUntil(inlet.receive(5, forever))
      const burials = deliveries.map((delivery, n) => {
        const letter = { ...some[n]!, event: delivery.parcel.event }
        return { do: 'bury', delivery, to: '_mail-svc.deadletter', letter } as const
      })
      await tools.clock.runUntil(inlet.settle(burials))
      let well = false
      const refused = some[2]!.id
      const letters = refusing(store!.letters!, (ids) => !well && ids.includes(refused))
      const intake = await intakeOf(transport!, letters, tools)
      const stop = new AbortController()
      const running = intake.run(stop.signal)
      // in small steps: what asks a file needs real turns in between
      for (let n = 0; n < 300; n++) await tools.clock.advance(1000)
      expect(await store!.letters!.count({})).toBe(4)
      const tries = tools.facts.filter((fact) => fact.is === 'trouble').length
      expect(tries).toBeGreaterThan(3)
      expect(tries).toBeLessThan(30)
      well = true
      for (let n = 0; n < 360; n++) await tools.clock.advance(1000)
      expect(await store!.letters!.count({})).toBe(5)
      stop.abort()
      await tools.clock.advance(1000, running)
      await running
      await intake.close()
      const left = await transport!.collect({ name: '_mail-svc.deadletter' })
      expect((await left.lag()).waiting).toBe(0)
      await tools.clock.runUntil(Promise.all([transport!.close(), store!.close()]))
      if (name === 'sqlite') rmSync(join(file, '..'), { recursive: true, force: true })
    },
  )

  it('is not told of all when the store is away, and all are kept once it is back', async () => {
    let away = true
    const { tools, settled, kept, end } = await setUp(() => away)
    await tools.clock.advance(20_000)
    expect(await kept()).toEqual([])
    expect(settled).toEqual([])
    const troubles = tools.facts.filter((fact) => fact.is === 'trouble')
    expect(troubles.length).toBeLessThan(40)
    away = false
    await tools.clock.advance(30_000)
    expect(await kept()).toHaveLength(5)
    expect(settled).toHaveLength(5)
    await end()
  })
})
