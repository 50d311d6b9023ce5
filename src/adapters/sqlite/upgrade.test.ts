import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, describe, expect, it } from 'vitest'
import type { Subscription } from '../../contracts/transport.ts'
import type { Event } from '../../core/event.ts'
import { slotOf } from '../../core/group.ts'
import { contentHash } from '../../core/repair.ts'
import { freshTrail } from '../../core/trail.ts'
import { sampleLetters } from '../../testing/letters.ts'
import { testTools } from '../../testing/tools.ts'
import { open } from './index.ts'

const folder = mkdtempSync(join(tmpdir(), 'reprieve-upgrade-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** As the file was when parcels had no rank. */
const TO_FIFTH = `
DROP INDEX reprieve_parcel_at; ALTER TABLE reprieve_parcel DROP COLUMN rank;
CREATE INDEX reprieve_parcel_at ON reprieve_parcel (subscription, at, id, type);
UPDATE reprieve_meta SET value = 5 WHERE name = 'schema';
`
/** As the file was when a letter's row held its envelope, and that what its event carries. */
const TO_FOURTH = `${TO_FIFTH}
CREATE TABLE letter_4 (
  id TEXT PRIMARY KEY, buried_at INTEGER NOT NULL, service TEXT NOT NULL, topic TEXT NOT NULL, category TEXT NOT NULL,
  kind TEXT NOT NULL, fingerprint TEXT NOT NULL, state TEXT NOT NULL, state_at INTEGER NOT NULL, type TEXT NOT NULL,
  envelope BLOB NOT NULL, event_type TEXT NOT NULL DEFAULT '', code TEXT NOT NULL DEFAULT ''
) STRICT;
INSERT INTO letter_4 SELECT id, buried_at, service, topic, category, kind, fingerprint, state, state_at, type,
  CAST(json_set(CAST(envelope AS TEXT), '$.originalMessage.data_base64', base64(data)) AS BLOB), event_type, code
  FROM reprieve_letter 
  JOIN reprieve_envelope AS e ON e.letter = number JOIN reprieve_content AS c ON c.letter = number;
DROP TABLE reprieve_letter; DROP TABLE reprieve_envelope; DROP TABLE reprieve_content;
ALTER TABLE letter_4 RENAME TO reprieve_letter;
CREATE INDEX reprieve_letter_age ON reprieve_letter (buried_at, id);
CREATE INDEX reprieve_letter_state ON reprieve_letter (state, buried_at, id);
CREATE INDEX reprieve_letter_service ON reprieve_letter (service, state, buried_at, id);
CREATE INDEX reprieve_letter_fingerprint ON reprieve_letter (fingerprint, state, buried_at, id);
UPDATE reprieve_meta SET value = 4 WHERE name = 'schema';
`
/** As the file was when a parcel's row held what its event carries. */
const TO_THIRD = `${TO_FOURTH}
ALTER TABLE reprieve_parcel ADD COLUMN data BLOB;
UPDATE reprieve_parcel SET data = (SELECT bytes FROM reprieve_data WHERE parcel = id);
DROP TRIGGER reprieve_parcel_gone; DROP TABLE reprieve_data;
UPDATE reprieve_meta SET value = 3 WHERE name = 'schema'`
/** As the file was when letters had no groups. */
const TO_SECOND = `${TO_THIRD};
DROP TABLE reprieve_letter_group; DROP TABLE reprieve_letter_tally; DROP TABLE reprieve_letter_arrival;
DROP INDEX reprieve_letter_service; DROP INDEX reprieve_letter_fingerprint;
ALTER TABLE reprieve_letter DROP COLUMN event_type; ALTER TABLE reprieve_letter DROP COLUMN code;
CREATE INDEX reprieve_letter_service ON reprieve_letter (service, buried_at, id);
CREATE INDEX reprieve_letter_fingerprint ON reprieve_letter (fingerprint, buried_at, id);
UPDATE reprieve_letter SET state = 'open' WHERE state = 'quarantined';
UPDATE reprieve_meta SET value = 2 WHERE name = 'schema'`
const TO_FIRST = `
ALTER TABLE reprieve_ledger DROP COLUMN begun; UPDATE reprieve_meta SET value = 1 WHERE name = 'schema'`

const subscription: Subscription = {
  service: 'billing',
  topic: 'order.placed',
  consumerGroup: 'billing',
  types: ['*'],
  order: 'none',
  lease: 30_000,
  window: 10,
  destinations: [],
}

const hex = (data: Uint8Array | null) => data && Buffer.from(data).toString('hex')

const olderAt = (path: string): DatabaseSync => {
  const database = new DatabaseSync(path)
  const base64 = (data: unknown) => Buffer.from(data as Uint8Array).toString('base64')
  database.function('base64', (data) => (data === null ? null : base64(data)))
  return database
}

describe('a file of an older version', () => {
  it('whose items did not know in which version they were frozen has them as they died, and their letters held', async () => {
    const path = join(folder, 'older-items.db')
    const tools = testTools()
    const before = await open(`sqlite:${path}`, tools)
    const plan = { batch: 50, although: [] }
    const asked = { since: 0, by: 'ann', at: 0, chosen: {}, plan }
    const operation = { kind: 'replay', state: 'freezing', ...asked } as const
    const { version } = await before.store.operations.begin({ id: 'o-1', ...operation })
    const letters = sampleLetters(2, tools.clock.now())
    await before.store.letters.keep(letters)
    const [letter, other] = letters.map(({ id }) => id) as [string, string]
    const item = { place: 1, letter, state: 'waiting', at: 5 } as const
    await before.store.operations.add('o-1', version, [item])
    await before.transport.close()
    await before.store.close()
    const older = olderAt(path)
    older.exec(`ALTER TABLE reprieve_operation_item DROP COLUMN repair;
      CREATE TABLE reprieve_operation_hold (
        letter TEXT PRIMARY KEY, operation INTEGER NOT NULL, place INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      INSERT INTO reprieve_operation_hold SELECT id, operation, place
        FROM reprieve_operation_held AS held JOIN reprieve_letter ON number = held.letter;
      DROP TABLE reprieve_operation_held;
      CREATE INDEX reprieve_operation_item_state ON reprieve_operation_item (operation, state, place)`)
    older.close()
    for (let time = 0; time < 2; time++) {
      const { transport, store } = await open(`sqlite:${path}`, tools)
      expect(await store.operations.items('o-1', undefined, 9)).toEqual([item])
      expect(await store.operations.items('o-1', ['waiting'], 9)).toEqual([item])
      const second = { id: `o-2${time}`, ...operation }
      const { version } = await store.operations.begin(second)
      await store.operations.add(second.id, version, [item, { ...item, place: 2, letter: other }])
      expect(await store.operations.items(second.id, ['skipped'], 9)).toEqual([
        { ...item, state: 'skipped', because: 'in another operation' },
        ...(time === 0
          ? []
          : [{ ...item, ...{ place: 2, letter: other, state: 'skipped' }, because: 'in another operation' }]),
      ])
      await transport.close()
      await store.close()
    }
    const now = olderAt(path)
    expect(now.prepare("SELECT name FROM sqlite_schema WHERE name LIKE '%item_state'").all()).toEqual([])
    now.close()
  })

  it('(schema 5) hands over urgent events first, and fresh ones before retries', async () => {
    const path = join(folder, 'older-5.db')
    const tools = testTools()
    const event = (id: string, over: Partial<Event> = {}): Event => ({
      ...{ id, source: '/test', type: 'order.placed', extensions: {}, headers: {}, data: null },
      ...over,
    })
    const failed = { ...freshTrail, spent: 1 }
    const before = await open(`sqlite:${path}`, tools)
    await before.transport.subscribe(subscription)
    await before.transport.forward(
      subscription,
      ['r1', 'r2', 'r3'].map((id) => ({ event: event(id), trail: failed, due: tools.clock.now() })),
    )
    await before.transport.publish('order.placed', [
      event('f1'),
      event('f2', { extensions: { priority: 'low' }, type: 'order.pressing' }),
      event('u1', { extensions: { priority: 'high' } }),
      event('u2', { type: 'order.pressing' }),
    ])
    await before.transport.close()
    await before.store.close()

    const older = olderAt(path)
    older.exec(TO_FIFTH)
    older.close()
    const { transport, store } = await open(`sqlite:${path}`, tools)
    const urgency = { types: ['order.pressing'], others: ['order.placed'] }
    const inlet = await transport.subscribe({ ...subscription, urgency })
    const ids: string[] = []
    while (ids.length < 7) {
      const some = await inlet.receive(2, new AbortController().signal)
      ids.push(...some.map(({ parcel }) => parcel.event.id))
    }
    expect(ids).toEqual(['u1', 'u2', 'f1', 'f2', 'r1', 'r2', 'r3'])
    await transport.close()
    await store.close()
  })

  it('(schema 4) still has all its letters, what their events carry, and what was repaired', async () => {
    const path = join(folder, 'older-4.db')
    const tools = testTools()
    const letters = sampleLetters(3, tools.clock.now(), (n) => ({ error: `no. ${n}` })).map((letter, n) => {
      const data = [Buffer.from('{"n":1}'), Buffer.from([0xff, 0]), null][n]!
      return { ...letter, event: { ...letter.event, headers: { h: 'x' }, data } }
    })
    const before = await open(`sqlite:${path}`, tools)
    await before.store.letters.keep(letters)
    const [first] = letters
    const content = { headers: { h: 'y' }, data: Buffer.from('{"n":2}') }
    const repair = {
      ...{ version: 1, at: tools.clock.now(), who: 'ann', change: null, ...content },
      ...{ before: contentHash(first!.event), hash: contentHash(content) },
    }
    const told = { at: tools.clock.now(), who: 'ann', act: 'repair', details: {} }
    await before.store.letters.desk!.repair([{ id: first!.id, from: ['open'], repair }], told)
    const found = async (kept: typeof before.store.letters) => ({
      found: await kept.find({}, 10),
      outlines: (await kept.outlines({}, 10)).map(({ letter: { id, event } }) => [id, event.id]),
      sent: (await kept.sendables(letters.map(({ id }) => id)))
        .map(({ letter, repair: newest }) => [
          letter.id,
          letter.event.headers,
          hex(letter.event.data),
          newest?.hash,
        ])
        .sort(),
    })
    const expected = await found(before.store.letters)
    await before.transport.close()
    await before.store.close()

    const older = olderAt(path)
    older.exec(TO_FOURTH)
    older.close()
    for (let time = 0; time < 2; time++) {
      const { transport, store } = await open(`sqlite:${path}`, tools)
      expect(await found(store.letters)).toEqual(expected)
      await transport.close()
      await store.close()
    }
    expect(expected.found.map(({ letter }) => letter.event.data)).toEqual(
      [...letters.map(({ event }) => event.data)].reverse(),
    )
    const { transport, store } = await open(`sqlite:${path}`, tools)
    await store.letters.desk!.remove(
      letters.map(({ id }) => id),
      ['open'],
      told,
    )
    await transport.close()
    await store.close()
    const left = new DatabaseSync(path)
    expect(left.prepare('SELECT count(*) AS n FROM reprieve_envelope').get()).toEqual({ n: 0 })
    expect(left.prepare('SELECT count(*) AS n FROM reprieve_content').get()).toEqual({ n: 0 })
    expect(left.prepare('SELECT count(*) AS n FROM reprieve_letter_repair').get()).toEqual({ n: 0 })
    left.close()
  })

  it('(schema 3) still has all its events, and what they carry', async () => {
    const path = join(folder, 'older-3.db')
    const tools = testTools()
    const event = { source: '/test', type: 'order.placed', extensions: {}, headers: {} }
    const events: Event[] = [
      { ...event, id: 'e1', data: Buffer.from('{"n":1}') },
      { ...event, id: 'e2', data: null },
      { ...event, id: 'e3', data: Buffer.alloc(0) },
    ]
    const before = await open(`sqlite:${path}`, tools)
    await before.transport.subscribe(subscription)
    await before.transport.publish('order.placed', events)
    await before.transport.close()
    await before.store.close()

    const older = olderAt(path)
    older.exec(TO_THIRD)
    older.close()
    const { transport, store } = await open(`sqlite:${path}`, tools)
    const inlet = await transport.subscribe(subscription)
    const deliveries = await inlet.receive(10, new AbortController().signal)
    expect(deliveries.map(({ parcel }) => [parcel.event.id, parcel.event.data])).toEqual(
      events.map(({ id, data }) => [id, data && new Uint8Array(data)]),
    )
    await inlet.settle(deliveries.map((delivery) => ({ do: 'ack', delivery })))
    await transport.close()
    await store.close()
    const left = new DatabaseSync(path)
    expect(left.prepare('SELECT count(*) AS n FROM reprieve_data').get()).toEqual({ n: 0 })
    left.close()
  })

  it.each([2, 1])(
    '(schema %i) is brought up to this one, with groups and tallies of its letters',
    async (version) => {
      const path = join(folder, `older-${version}.db`)
      const tools = testTools()
      const letters = sampleLetters(7, tools.clock.now(), (n) => ({
        fingerprint: n < 3 ? 'f1-a' : 'f1-b',
        error: `no. ${n}`,
        ...(n === 6 && { reason: 'poison' }),
      }))
      const before = await open(`sqlite:${path}`, tools)
      await before.store.letters.keep(letters)
      await before.store.letters.mark([{ id: letters[0]!.id, from: ['open'], to: 'resolved', at: 5 }])
      const told = async (kept: typeof before.store.letters) => ({
        groups: await kept.groups.list('', 10),
        tallies: await kept.groups.tallies(),
        arrivals: await kept.groups.arrivals(slotOf(tools.clock.now() - 1000)),
        found: await kept.find({ type: letters[0]!.event.type, states: ['quarantined'] }, 10),
      })
      const expected = await told(before.store.letters)
      await before.transport.close()
      await before.store.close()

      const older = olderAt(path)
      older.exec(version === 1 ? `${TO_SECOND};${TO_FIRST}` : TO_SECOND)
      older.close()
      for (let time = 0; time < 2; time++) {
        const { transport, store } = await open(`sqlite:${path}`, tools)
        expect(await told(store.letters)).toEqual(expected)
        await transport.close()
        await store.close()
      }
      expect(expected.groups).toMatchObject([
        { sample: letters[6]!.id, error: 'no. 6' },
        { fingerprint: 'f1-a' },
      ])
      expect(expected.found.map(({ letter }) => letter.id)).toEqual([letters[6]!.id])
    },
  )
})
