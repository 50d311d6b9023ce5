import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, describe, expect, it } from 'vitest'
import { Permanent, type Reprieve, reprieve } from '../../src/index.ts'
import { readRules } from '../../src/rules/index.ts'
import { testTools } from '../../src/testing/tools.ts'
import { someLetters } from './letters.ts'

const folder = mkdtempSync(join(tmpdir(), 'reprieve-retention-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const MINUTE = 60_000

const opened = async (name: string, book: string, processes = 1) => {
  const { clock, dice, facts, journal } = testTools()
  const path = join(folder, `${name}.db`)
  const rules = readRules(`version: 1\n${book}`, 'test.yaml')
  const handled: string[] = []
  const apps: Reprieve[] = []
  for (let n = 0; n < processes; n++) {
    const app = await reprieve({ transport: `sqlite:${path}`, rules, clock, dice, journal })
    app.service('pay').on('booked', ({ data }) => {
      if (data.bad) throw new Permanent(`no: ${data.bad}`)
      handled.push(data.id)
    })
    await clock.runUntil(app.start())
    apps.push(app)
  }
  const close = async () => {
    for (const app of apps) await clock.runUntil(app.close())
  }
  return { app: apps[0]!, clock, facts, handled, path, close }
}

describe('retention', () => {
  it('removes by itself what the rules keep no longer, in one of two processes, and lets followers go', async () => {
    const book = `retention: { every: 1m }
defaults: { deadLetter: { retention: 3m } }
services: { pay: { order: key, afterDeath: hold } }`
    const { app, clock, facts, handled, close } = await opened('job', book, 2)
    await app.publish('booked', { id: 'a', bad: 'a' }, { orderKey: 'k' })
    await app.publish('booked', { id: 'b' }, { orderKey: 'k' })
    await app.publish('booked', { id: 'c', bad: 'c' })
    await clock.advance(2.5 * MINUTE)
    expect([await app.office.count({}), handled]).toEqual([2, []])
    await clock.advance(2 * MINUTE)
    expect(await app.office.count({})).toBe(0)
    expect(handled).toEqual(['b'])
    expect(await app.office.groups({ all: true })).toEqual([])
    const acts = await app.audit.list({ act: 'retention' })
    // the one that held an order key was given up first
    expect(acts.map(({ count }) => count)).toEqual([2, 1])
    expect(acts[0]).toMatchObject({
      who: expect.stringContaining('retention job of'),
      details: { retention: 3 * MINUTE },
    })
    expect((await app.audit.verify()).broken).toBeUndefined()
    const runs = facts.filter((fact) => fact.is === 'job' && fact.name === 'retention')
    expect(runs.length).toBe(4)
    await close()
  })

  it('finds what is on its way for too long behind a hundred that just left', async () => {
    const book = 'retention: off\ndefaults: { deadLetter: { retention: 1d } }'
    const { app, clock, close } = await opened('behind', book)
    const { letters } = app.store
    const old = clock.now() - 3 * 24 * 60 * MINUTE
    const all = someLetters(121, 'pay', old)
    await letters.keep(all)
    const marked = (at: number, some: readonly { readonly id: string }[]) =>
      letters.mark(some.map(({ id }) => ({ id, from: ['open'], to: 'replaying', at })))
    // the oldest by their burial lie behind all others
    await marked(old + 1000, all.slice(0, 6))
    await marked(clock.now(), all.slice(6))
    expect(await clock.runUntil(app.office.removePast())).toMatchObject({ removed: 6 })
    expect(await app.office.count({ states: ['replaying'] })).toBe(115)
    await close()
  })

  it('leaves what is on its way back, what another rule keeps, and everything where it is off', async () => {
    const book = `retention: off
defaults: { deadLetter: { retention: 1m } }
services: { pay: { events: { booked: { deadLetter: { retention: 3m } } } } }`
    const { app, clock, close } = await opened('off', book)
    for (const bad of ['a', 'b', 'c']) await app.publish('booked', { bad })
    await clock.advance(2 * MINUTE)
    expect(await app.office.removePast()).toEqual({ removed: 0, freed: 0 })
    await clock.advance(2 * MINUTE)
    expect(await app.office.count({})).toBe(3)
    const [one] = await app.office.list({}, 1)
    await app.store.letters.mark([{ id: one!.letter.id, from: ['open'], to: 'replaying', at: clock.now() }])
    expect(await app.office.removePast({ most: 1 })).toMatchObject({ removed: 1 })
    expect(await app.office.removePast()).toMatchObject({ removed: 1 })
    expect((await app.office.list({}, 9)).map(({ state }) => state)).toEqual(['replaying'])
    await clock.advance(4 * MINUTE)
    expect(await app.office.removePast()).toMatchObject({ removed: 1 })
    await close()
  })
})

describe('redaction by rule', () => {
  it('keeps secrets out of every letter, and such a letter is replayed only after it was repaired', async () => {
    const book = `redact:
  cards: { event: 'book*', paths: [$.card.number], headers: [authorization] }
  other: { service: somebody-else, paths: [$.id] }`
    const { app, clock, handled, path, close } = await opened('redact', book)
    const headers = { authorization: 'Bearer topsecret' }
    const data = { id: 'a', bad: '4111-1111', card: { number: '4111-1111' } }
    await app.publish('booked', data, { headers })
    await clock.advance(1000)
    const [kept] = await app.office.list({}, 1)
    expect(kept!.letter.redacted).toEqual({ at: ['$.card.number', 'headers.authorization'] })
    expect(kept!.letter.error).toBe('no: [redacted]')
    const file = new DatabaseSync(path, { readOnly: true })
    const tables = file.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
    for (const { name } of tables)
      for (const row of file.prepare(`SELECT * FROM "${name}"`).all())
        for (const value of Object.values(row))
          expect(
            value instanceof Uint8Array ? Buffer.from(value).toString() : String(value),
            String(name),
          ).not.toMatch(/topsecret|4111-1111"}/)
    file.close()

    const { id } = kept!.letter
    expect((await app.office.replay({ ids: [id] })).skipped).toEqual([
      { id, because: 'it was redacted at $.card.number, headers.authorization: repair it there first' },
    ])
    await app.office.repair([id], {
      set: { '$.card.number': '4242' },
      unset: ['$.bad'],
      headers: { authorization: null },
    })
    expect((await app.office.replay({ ids: [id] })).sent).toEqual([id])
    await clock.advance(1000)
    expect(handled).toEqual(['a'])
    expect((await app.office.show(id)).state).toBe('resolved')
    await close()
  })
})
