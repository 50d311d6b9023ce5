import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeWith } from '../../../test/services/urls.ts'
import { doStep, letterSteps, lookAt, oddFilter } from '../../../test/stores/letters.ts'
import { type Desk, deskAt } from '../../../test/stores/postgres.ts'
import type { Letters } from '../../contracts/letters.ts'
import { sampleLetters } from '../../testing/letters.ts'
import { testTools } from '../../testing/tools.ts'
import { open as openMemory } from '../memory/index.ts'
import { open as openSqlite } from '../sqlite/index.ts'

describeWith('postgres', 'letters in PostgreSQL', (url) => {
  const folder = mkdtempSync(join(tmpdir(), 'reprieve-letters-'))
  let desk: Desk
  let letters: Letters
  beforeAll(async () => {
    desk = await deskAt(url)
    letters = (await desk.open()).letters!
  })
  afterAll(async () => {
    await desk.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const empty = () =>
    desk.ask(
      `TRUNCATE ${['', '_group', '_tally', '_arrival', '_death'].map((rest) => `${desk.schema}.letter${rest}`).join(', ')}`,
    )

  it('are looked into however deep their payload is', async () => {
    await letters.count({})
    await empty()
    const data = Buffer.from(`{"owner":"ann","deep":${'['.repeat(5000)}${']'.repeat(5000)}}`)
    const [letter] = sampleLetters(1, 1_800_000_000_000)
    const sqlite = await openSqlite(`sqlite:${join(folder, 'deep.db')}`, testTools())
    for (const store of [letters, sqlite.store.letters]) {
      await store.keep([{ ...letter!, event: { ...letter!.event, data } }])
      expect(await store.count({ where: '$.owner = "ann"' })).toBe(1)
      expect(await store.count({ where: '$.owner = "bob"' })).toBe(0)
    }
    await sqlite.transport.close()
    await sqlite.store.close()
  })

  it('are found, counted and grouped as those in SQLite are, and found as those in memory', async () => {
    await letters.count({})
    let runs = 0
    await fc.assert(
      fc.asyncProperty(letterSteps, fc.array(oddFilter, { maxLength: 8 }), async (steps, filters) => {
        await empty()
        const sqlite = await openSqlite(`sqlite:${join(folder, `${++runs}.db`)}`, testTools())
        const memory = await openMemory('memory:', testTools())
        const stores = [letters, sqlite.store.letters, memory.store!.letters!]
        for (const [n, step] of steps.entries()) {
          const [ours, ...others] = await Promise.all(stores.map((each) => doStep(each, step, n)))
          for (const other of others) expect(ours).toEqual(other)
        }
        const [ours, theirs, plain] = (await Promise.all(stores.map((each) => lookAt(each, filters)))) as {
          found: unknown
        }[]
        expect(ours).toEqual(theirs)
        expect(ours!.found).toEqual(plain!.found)
        await sqlite.transport.close()
        await sqlite.store.close()
      }),
      { numRuns: 40 },
    )
  })

  it('that nobody honest writes are kept like any other, and stop none of their batch', async () => {
    await empty()
    const long = 'ž'.repeat(5000)
    const [id, service] = [`id-${long}`, `service-${long}`]
    const over = [
      { id, service },
      { id: 'nul\u0000id', topic: '\u0000', fingerprint: `f-${long}` },
      { id: 'half\udfff', code: long, error: '\u0000\ud800' },
      { id: ' ', event: { ...sampleLetters(1, 5)[0]!.event, type: long } },
    ]
    const odd = sampleLetters(5, 1_800_000_000_000, (n) => over[n] ?? { id: 'plain' })
    expect(await letters.keep(odd)).toBe(5)
    expect(await letters.keep(odd)).toBe(0)
    for (const letter of odd) {
      const [found] = await letters.find({ ids: [letter.id] }, 2)
      expect(found?.letter.event).toEqual(letter.event)
      expect(found?.letter.id).toBe(letter.id)
      const [sent] = await letters.sendables([letter.id])
      expect(sent?.letter.event).toEqual(letter.event)
      expect([sent?.letter.service, sent?.letter.topic]).toEqual([letter.service, letter.topic])
    }
    expect((await letters.outlines({}, 9)).map(({ letter }) => letter.id)).toEqual(
      odd.map((letter) => letter.id).toReversed(),
    )
    expect(await letters.find({ service }, 2)).toHaveLength(1)
    const all = []
    for (let after: string | undefined; ; after = all.at(-1)) {
      const page = await letters.find({}, 2, after)
      if (page.length === 0) break
      all.push(...page.map(({ letter }) => letter.id))
    }
    expect(all).toEqual(odd.map((letter) => letter.id).toReversed())
    for (const group of await letters.groups.list('', 10)) {
      expect((await letters.groups.tallies(group.fingerprint)).length).toBeGreaterThan(0)
      expect(await letters.groups.tend(group.fingerprint, { owner: 'ann' }, 7)).toBe(true)
    }
    const marks = odd.map((letter) => ({ id: letter.id, from: ['open'], to: 'discarded', at: 5 }) as const)
    expect(await letters.mark(marks)).toEqual(odd.map(() => true))
    expect(await letters.count({ states: ['discarded'] })).toBe(5)
  })

  it('of version 1, whose envelopes held what their events carry, are all there and can be sent', async () => {
    const older = await deskAt(url)
    const first = await older.open()
    const all = sampleLetters(3, 1_800_000_000_000).map((letter, n) => {
      const data = [Buffer.from('{"n":1}'), Buffer.from([0xff, 0]), null][n]!
      return { ...letter, event: { ...letter.event, headers: { h: 'x' }, data } }
    })
    await first.letters!.keep(all)
    const told = async (kept: Letters) => ({
      found: await kept.find({}, 10),
      sent: (await kept.sendables(all.map(({ id }) => id)))
        .map(({ letter }) => [letter.id, letter.event.headers, letter.event.data])
        .sort(),
      outlines: (await kept.outlines({}, 10)).map(({ letter }) => [letter.id, letter.event.id]),
    })
    const expected = await told(first.letters!)
    expect(expected.found.map(({ letter }) => letter.event.data)).toEqual(
      all.map(({ event }) => event.data).toReversed(),
    )
    const operation = {
      ...({ kind: 'replay', state: 'freezing', since: 0, by: 'ann', at: 0, chosen: {} } as const),
      plan: { batch: 50, although: [] },
    }
    const item = { place: 1, letter: all[0]!.id, state: 'waiting', at: 0 } as const
    const held = await first.operations!.begin({ ...operation, id: 'older' })
    await first.operations!.add('older', held.version, [item])
    await older.ask(`
      CREATE TABLE ${older.schema}.operation_hold AS SELECT letter, operation, place FROM ${older.schema}.operation_item;
      ALTER TABLE ${older.schema}.operation_item DROP COLUMN held;
      CREATE INDEX operation_item_state ON ${older.schema}.operation_item (operation, state, place);
      UPDATE ${older.schema}.letter SET envelope = convert_to(jsonb_set(convert_from(envelope, 'UTF8')::jsonb,
        '{originalMessage,data_base64}', coalesce(to_jsonb(encode(data, 'base64')), 'null'))::text, 'UTF8');
      ALTER TABLE ${older.schema}.letter DROP COLUMN outline, DROP COLUMN headers, DROP COLUMN data;
      ALTER TABLE ${older.schema}.operation_item DROP COLUMN repair;
      UPDATE ${older.schema}.meta SET value = 1 WHERE name = 'letters'`)
    // two that open it at once bring it up once
    const [one, two] = await Promise.all([older.open(), older.open()])
    expect(await Promise.all([told(one.letters!), told(two.letters!)])).toEqual([expected, expected])
    expect(await one.letters!.keep(all)).toBe(0)
    // what an operation held then it holds still
    expect(await one.operations!.items('older', ['waiting'], 9)).toEqual([item])
    const { version } = await one.operations!.begin({ ...operation, id: 'newer' })
    await one.operations!.add('newer', version, [item])
    expect(await one.operations!.items('newer', undefined, 9)).toEqual([
      { ...item, state: 'skipped', because: 'in another operation' },
    ])
    await older.close()
  })
})
