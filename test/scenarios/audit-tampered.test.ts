import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type AuditEntry, headAt, link, START } from '../../src/core/audit.ts'
import { type Options, reprieve } from '../../src/index.ts'
import { describeWith } from '../services/urls.ts'
import { plainly as bySql, ownSchema } from '../stores/postgres.ts'
import { cli, folderWith } from './child.ts'
import { someLetters } from './letters.ts'

/** Six acts; the third has a reason. */
const made = async (options: Options): Promise<void> => {
  const app = await reprieve({ ...options, as: 'ann' })
  const [letter] = someLetters(1)
  await app.store.letters.keep([letter!])
  await app.hand.pause('mail-svc')
  await app.hand.resume('mail-svc')
  await app.office.discard([letter!.id], { reason: 'paid by hand' })
  await app.hand.breaker('crm', 'open', { reason: 'planned work' })
  await app.hand.breaker('crm', 'release')
  await app.hand.pause('mail-svc', { by: 'bob' })
  await app.close()
}

const plainly = (cwd: string, sql: string): void => {
  const database = new DatabaseSync(join(cwd, 'reprieve.db'))
  try {
    database.exec(sql)
  } finally {
    database.close()
  }
}

const UNLOCK = 'DROP TRIGGER reprieve_audit_unchanged; DROP TRIGGER reprieve_audit_whole;'
const COPY = 'INSERT INTO reprieve_audit SELECT'

/** By plain SQL, and what `audit verify` says. */
const TAMPERED: readonly (readonly [string, string, string])[] = [
  ['a reason changed', "UPDATE reprieve_audit SET reason = 'no reason' WHERE seq = 3", 'entry 3: changed'],
  ['a reason taken away', 'UPDATE reprieve_audit SET reason = NULL WHERE seq = 3', 'entry 3: changed'],
  ['a name changed', "UPDATE reprieve_audit SET who = 'bob' WHERE seq = 1", 'entry 1: changed'],
  ['a zero byte hung on', 'UPDATE reprieve_audit SET who = who || char(0) WHERE seq = 1', 'entry 1: changed'],
  ['a time moved', 'UPDATE reprieve_audit SET at = at - 1 WHERE seq = 2', 'entry 2: changed'],
  [
    'a time no number can hold',
    'UPDATE reprieve_audit SET at = 9223372036854775807 WHERE seq = 2',
    'entry 2: changed',
  ],
  [
    'details that mean the same',
    "UPDATE reprieve_audit SET details = ' ' || details WHERE seq = 4",
    'entry 4: changed',
  ],
  ['details that mean nothing', "UPDATE reprieve_audit SET details = '{' WHERE seq = 4", 'entry 4: changed'],
  ['a row in the middle deleted', 'DELETE FROM reprieve_audit WHERE seq = 3', 'entry 3: gap'],
  ['the first row deleted', 'DELETE FROM reprieve_audit WHERE seq = 1', 'entry 1: gap'],
  ['the last row deleted', 'DELETE FROM reprieve_audit WHERE seq = 6', 'entry 6: cut'],
  ['all rows deleted', 'DELETE FROM reprieve_audit', 'entry 1: cut'],
  [
    'two swapped',
    'UPDATE reprieve_audit SET seq = -1 WHERE seq = 2; UPDATE reprieve_audit SET seq = 2 WHERE seq = 4; UPDATE reprieve_audit SET seq = 4 WHERE seq = -1',
    'entry 2: changed',
  ],
  [
    'one inserted, the others moved up',
    `UPDATE reprieve_audit SET seq = -seq WHERE seq > 2; UPDATE reprieve_audit SET seq = 1 - seq WHERE seq < 0;
     ${COPY} 3, at, 'eve', act, target, count, reason, details, previous, hash FROM reprieve_audit WHERE seq = 2`,
    'entry 3: changed',
  ],
  [
    'one inserted at the end',
    `${COPY} 7, at, who, act, target, count, reason, details, hash, hash FROM reprieve_audit WHERE seq = 6`,
    'entry 7: changed',
  ],
  [
    'one inserted before the first',
    `${COPY} 0, at, who, act, target, count, reason, details, previous, hash FROM reprieve_audit WHERE seq = 1`,
    'entry 0: order',
  ],
  ['the kept head deleted', 'DELETE FROM reprieve_audit_head', 'entry 6: head'],
  [
    'the last row deleted and the number of the head with it',
    'DELETE FROM reprieve_audit WHERE seq = 6; UPDATE reprieve_audit_head SET count = 5',
    'entry 5: head',
  ],
]

const BY_HAND = [
  'a reason changed',
  'a row in the middle deleted',
  'the last row deleted',
  'two swapped',
  'one inserted, the others moved up',
]

describe('an audit that was tampered with', () => {
  const whole = mkdtempSync(join(tmpdir(), 'reprieve-audit-'))
  beforeAll(() => made({ transport: `sqlite:${join(whole, 'reprieve.db')}` }))
  afterAll(() => rmSync(whole, { recursive: true, force: true }))
  const copied = (sql: string): string => {
    const cwd = folderWith()
    copyFileSync(join(whole, 'reprieve.db'), join(cwd, 'reprieve.db'))
    plainly(cwd, sql)
    return cwd
  }

  it('as it was written is intact', async () => {
    const { code, stdout } = await cli(['audit', 'verify'], { cwd: whole })
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^intact, 6 entries, head [0-9a-f]{64}\n$/)])
  })

  it('refuses changes and removals by accident', () => {
    expect(() => copied("UPDATE reprieve_audit SET who = 'bob'")).toThrow('append-only')
    expect(() => copied('DELETE FROM reprieve_audit WHERE seq = 6')).toThrow('append-only')
  })

  it.each(TAMPERED)('%s is found', async (_, sql, place) => {
    const app = await reprieve({ transport: `sqlite:${join(copied(UNLOCK + sql), 'reprieve.db')}` })
    const { broken } = await app.audit.verify()
    await app.close()
    expect(`entry ${broken?.seq}: ${broken?.kind}`).toBe(place)
  })

  it.each(TAMPERED.filter(([name]) => BY_HAND.includes(name)))(
    '%s is found by the command line',
    async (_, sql, place) => {
      const cwd = copied(UNLOCK + sql)
      const { code, stdout } = await cli(['audit', 'verify'], { cwd })
      expect([code, stdout]).toEqual([1, expect.stringContaining(`broken at ${place}: `)])
    },
  )

  it('goes on after a break, which stays to be found', async () => {
    for (const sql of ['DELETE FROM reprieve_audit WHERE seq = 6', 'DELETE FROM reprieve_audit_head']) {
      const cwd = copied(UNLOCK + sql)
      expect(await cli(['pause', 'other', '--force'], { cwd })).toMatchObject({ code: 0 })
      const { code, stdout } = await cli(['audit', 'verify', '--json'], { cwd })
      expect([code, JSON.parse(stdout)]).toMatchObject([1, { intact: false }])
    }
  })

  it('a chain written anew from its second entry on is found by a head that was written down elsewhere', async () => {
    const app = await reprieve({ transport: `sqlite:${join(whole, 'reprieve.db')}` })
    const entries = (await app.audit.list()).toReversed()
    const { head } = await app.audit.verify()
    await app.close()
    const forged: AuditEntry[] = []
    for (const { seq, previous: _, hash: _h, ...act } of entries)
      forged.push(
        link(forged.length > 0 ? headAt(forged.at(-1)!) : START, seq < 2 ? act : { ...act, who: 'eve' }),
      )
    const sql = forged.map(
      ({ seq, who, previous, hash }) =>
        `UPDATE reprieve_audit SET who = '${who}', previous = '${previous}', hash = '${hash}' WHERE seq = ${seq};`,
    )
    const cwd = copied(
      `${UNLOCK}${sql.join('\n')} UPDATE reprieve_audit_head SET hash = '${forged.at(-1)!.hash}'`,
    )
    expect(await cli(['audit', 'verify'], { cwd })).toMatchObject({ code: 0 })
    const { code, stdout } = await cli(['audit', 'verify', '--head', head], { cwd })
    expect([code, stdout]).toEqual([1, expect.stringContaining('broken at entry 6: rewritten: ')])
    expect(await cli(['audit', 'verify', '--head', head], { cwd: whole })).toMatchObject({ code: 0 })
    expect(await cli(['audit', 'verify', '--head', 'abc'], { cwd: whole })).toMatchObject({ code: 2 })
  })

  it('is still listed, inert, whatever stands in it', async () => {
    const cwd = copied(
      `${UNLOCK} UPDATE reprieve_audit SET who = char(27) || '[31mann', at = 9223372036854775807 WHERE seq = 2`,
    )
    const { code, stdout } = await cli(['audit', 'list'], { cwd })
    expect([code, stdout]).toEqual([0, expect.stringContaining('␛[31mann')])
    expect(stdout).not.toContain('\u001b')
  })
})

describeWith('postgres', 'an audit in PostgreSQL that was tampered with', (url) => {
  const UNLOCKED = 'ALTER TABLE audit DISABLE TRIGGER USER;'
  const inPostgres = (sql: string) => sql.replaceAll('reprieve_audit', 'audit')
  const tampered = async (sql: string): Promise<Options> => {
    const options = { transport: 'memory:', store: ownSchema(url) }
    await made(options)
    await bySql(options.store, sql)
    return options
  }

  it('refuses changes and removals by accident', async () => {
    for (const sql of ["UPDATE audit SET who = 'bob'", 'DELETE FROM audit WHERE seq = 6', 'TRUNCATE audit'])
      await expect(tampered(sql)).rejects.toThrow('append-only')
  })

  // no text holds a zero byte there
  it.each(TAMPERED.filter(([name]) => name !== 'a zero byte hung on'))(
    '%s is found',
    async (_, sql, place) => {
      const app = await reprieve(await tampered(UNLOCKED + inPostgres(sql)))
      const { broken } = await app.audit.verify()
      await app.close()
      expect(`entry ${broken?.seq}: ${broken?.kind}`).toBe(place)
    },
  )

  it('goes on after a break, which stays to be found', async () => {
    for (const sql of ['DELETE FROM audit WHERE seq = 6', 'DELETE FROM audit_head']) {
      const app = await reprieve(await tampered(UNLOCKED + sql))
      await app.hand.pause('other')
      expect((await app.audit.list())[0]).toMatchObject({ target: 'other' })
      expect((await app.audit.verify()).broken).toBeDefined()
      await app.close()
    }
  })
})
