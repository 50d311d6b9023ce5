import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, describe, expect, it } from 'vitest'
import type { Subscription } from '../../contracts/transport.ts'
import type { Event } from '../../core/event.ts'
import { slotOf } from '../../core/group.ts'
import { sampleLetters } from '../../testing/letters.ts'
import { testTools } from '../../testing/tools.ts'
import { open } from './index.ts'

const folder = mkdtempSync(join(tmpdir(), 'reprieve-upgrade-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** As the file was when a parcel's row held what its event carries. */
const TO_THIRD = `
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

describe('a file of an older version', () => {
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

    const older = new DatabaseSync(path)
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

      const older = new DatabaseSync(path)
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
