import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, describe, expect, it } from 'vitest'
import { slotOf } from '../../core/group.ts'
import { sampleLetters } from '../../testing/letters.ts'
import { testTools } from '../../testing/tools.ts'
import { open } from './index.ts'

const folder = mkdtempSync(join(tmpdir(), 'reprieve-upgrade-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** As the file was when letters had no groups. */
const TO_SECOND = `
DROP TABLE reprieve_letter_group; DROP TABLE reprieve_letter_tally; DROP TABLE reprieve_letter_arrival;
DROP INDEX reprieve_letter_service; DROP INDEX reprieve_letter_fingerprint;
ALTER TABLE reprieve_letter DROP COLUMN event_type; ALTER TABLE reprieve_letter DROP COLUMN code;
CREATE INDEX reprieve_letter_service ON reprieve_letter (service, buried_at, id);
CREATE INDEX reprieve_letter_fingerprint ON reprieve_letter (fingerprint, buried_at, id);
UPDATE reprieve_letter SET state = 'open' WHERE state = 'quarantined';
UPDATE reprieve_meta SET value = 2 WHERE name = 'schema'`
const TO_FIRST = `
ALTER TABLE reprieve_ledger DROP COLUMN begun; UPDATE reprieve_meta SET value = 1 WHERE name = 'schema'`

describe('a file of an older version', () => {
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
