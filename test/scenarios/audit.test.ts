import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { type Options, Permanent, type Reprieve, reprieve, Transient } from '../../src/index.ts'
import { createHand, enactApart } from '../../src/office/index.ts'
import { testApp } from '../../src/testing/index.ts'
import { describeWith } from '../services/urls.ts'
import { ownSchema } from '../stores/postgres.ts'
import { someLetters } from './letters.ts'

const folder = mkdtempSync(join(tmpdir(), 'reprieve-audit-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const STORES = [
  ['memory', () => ({ transport: 'memory:' })],
  ['sqlite', () => ({ transport: `sqlite:${join(folder, `${randomUUID()}.db`)}` })],
] as const

const opened = async (options: Options): Promise<Reprieve> => {
  const app = await reprieve({ as: 'ann', ...options })
  onTestFinished(() => app.close())
  return app
}

/** What was done, the oldest first, without its place in the chain. */
const acts = async ({ audit }: Pick<Reprieve, 'audit'>) =>
  (await audit.list({}, 1000)).toReversed().map(({ seq: _, previous: _p, hash: _h, at: _a, ...act }) => act)

const everyAct = (place: () => Options): void => {
  it('discard: who, on how many, which, and why; what took no effect is not there', async () => {
    const app = await opened(place())
    const letters = someLetters(60)
    await app.store.letters.keep(letters)
    const ids = letters.map(({ id }) => id)
    await app.office.discard([ids[0]!], { reason: 'paid\nby hand' })
    await app.store.letters.mark([{ id: ids[1]!, from: ['open'], to: 'resolved', at: 5 }])
    expect((await app.office.discard([ids[1]!, 'nobody'])).discarded).toEqual([])
    const result = await app.office.discard(ids, { as: 'bob' })
    expect(result.discarded).toHaveLength(59)
    expect(result.skipped).toEqual([{ id: ids[1], because: 'it is resolved' }])
    const set = { count: 60, hash: expect.stringMatching(/^[0-9a-f]{64}$/) }
    expect(await acts(app)).toEqual([
      {
        who: 'ann',
        act: 'discard',
        target: `letter ${ids[0]}`,
        count: 1,
        reason: 'paid by hand',
        details: { ids: [ids[0]], hash: expect.any(String) },
      },
      {
        who: 'bob',
        act: 'discard',
        target: 'letters',
        count: 49,
        details: { ids: expect.any(Array), more: 29, hash: expect.any(String), set },
      },
      {
        who: 'bob',
        act: 'discard',
        target: 'letters',
        count: 10,
        details: { ids: ids.slice(50), hash: expect.any(String), set },
      },
    ])
    expect(await app.audit.verify()).toMatchObject({ count: 3 })
  })

  it('replay, and that it was undone where nothing could be sent', async () => {
    const app = await opened(place())
    await app.store.letters.keep(someLetters(2))
    await expect(app.office.replay({ service: 'mail-svc' }, { reason: 'mended' })).rejects.toThrow()
    expect(await app.store.letters.count({ states: ['open'] })).toBe(2)
    app.service('mail-svc').on('task.created', () => {})
    await app.start()
    await app.office.replay({ service: 'mail-svc' }, { reason: 'mended' })
    expect(await acts(app)).toMatchObject([
      { act: 'replay', count: 2, reason: 'mended', details: { filter: { service: 'mail-svc' } } },
      { act: 'replay undone', count: 2 },
      { act: 'operation cancel', count: 2, reason: 'not all could be sent' },
      { act: 'replay', count: 2, who: 'ann', reason: 'mended' },
    ])
  })

  it('pause, resume, breaker open, close and release, with their entries on the board', async () => {
    const app = await opened(place())
    await app.hand.pause('mail-svc', { reason: 'too hot', lasts: 60_000 })
    expect(await app.hand.paused()).toMatchObject([{ service: 'mail-svc', by: 'ann' }])
    await app.hand.resume('mail-svc', { by: 'bob' })
    await app.hand.breaker('crm', 'open')
    expect(await app.hand.breakers()).toMatchObject([{ name: 'crm', forced: { to: 'open', by: 'ann' } }])
    await app.hand.breaker('crm', 'closed')
    await app.hand.breaker('crm', 'release')
    expect(await acts(app)).toEqual([
      {
        who: 'ann',
        act: 'pause',
        target: 'mail-svc',
        count: 1,
        reason: 'too hot',
        details: { lasts: 60_000 },
      },
      { who: 'bob', act: 'resume', target: 'mail-svc', count: 1, details: {} },
      { who: 'ann', act: 'breaker open', target: 'crm', count: 1, details: { lasts: 86_400_000 } },
      { who: 'ann', act: 'breaker close', target: 'crm', count: 1, details: { lasts: 86_400_000 } },
      { who: 'ann', act: 'breaker release', target: 'crm', count: 1, details: {} },
    ])
    expect(await app.audit.list({ who: 'bob' })).toMatchObject([{ seq: 2, act: 'resume' }])
    expect(await app.audit.list({ act: 'pause' })).toHaveLength(1)
    expect((await app.audit.list({}, 2, 5)).map(({ seq }) => seq)).toEqual([4, 3])
    const [first] = (await app.audit.list()).toReversed()
    expect(await app.audit.list({ to: first!.at })).toEqual([])
    expect(await app.audit.list({ from: first!.at })).toHaveLength(5)
  })

  it('a head written down elsewhere is found again while it is true, and missed when it is not', async () => {
    const app = await opened(place())
    await app.hand.pause('a')
    const { head } = await app.audit.verify()
    await app.hand.pause('b')
    expect(await app.audit.verify({ head })).toMatchObject({ count: 2 })
    const other = '1'.repeat(64)
    expect(await app.audit.verify({ head: other })).toMatchObject({ broken: { seq: 2, kind: 'rewritten' } })
    await expect(app.audit.verify({ head: 'x' })).rejects.toMatchObject({ code: 'bad_usage' })
  })

  it('nothing is done under a name that could mislead', async () => {
    const app = await opened(place())
    const [letter] = someLetters(1)
    await app.store.letters.keep([letter!])
    const as = 'ann\u202e'
    await expect(app.office.discard([letter!.id], { as })).rejects.toMatchObject({ code: 'bad_usage' })
    await expect(app.office.replay({}, { as })).rejects.toMatchObject({ code: 'bad_usage' })
    await expect(app.hand.pause('mail-svc', { by: as })).rejects.toMatchObject({ code: 'bad_usage' })
    await expect(reprieve({ transport: 'memory:', as })).rejects.toMatchObject({ code: 'bad_usage' })
    expect(await app.audit.verify()).toMatchObject({ count: 0 })
    expect(await app.store.letters.count({ states: ['open'] })).toBe(1)
  })
}

describe.each(STORES)('every act by hand is in the audit: %s', (_, place) => {
  everyAct(place)

  it('a chain of several pages is followed and listed to its end', async () => {
    const app = await opened(place())
    const act = { at: 1, who: 'ann', act: 'pause', target: 'x', count: 1, details: {} }
    await Promise.all(Array.from({ length: 2100 }, (_, n) => app.store.audit.append({ ...act, at: n })))
    expect(await app.audit.verify()).toMatchObject({ count: 2100 })
    expect(await app.audit.list({ to: 2 })).toMatchObject([{ seq: 2 }, { seq: 1 }])
  })
})
describeWith('postgres', 'every act by hand is in the audit: postgres', (url) =>
  everyAct(() => ({ transport: 'memory:', store: ownSchema(url) })),
)

describe('who', () => {
  it('is the user of this machine unless told', async () => {
    const app = await reprieve({ transport: 'memory:' })
    await app.hand.pause('mail-svc')
    expect(await acts(app)).toMatchObject([{ who: userInfo().username }])
    await app.close()
  })

  it('is the recovery job and its process where that replays', async () => {
    await using app = await testApp({
      yaml: 'version: 1\npolicies: { brief: { backoff: fixed, delay: 1s, retries: 1 } }\ndefaults: { policy: brief }\n',
      recovery: { every: '1h' },
    })
    let up = false
    app.service('mail-svc').on('task.created', () => {
      if (!up) throw new Transient('down')
    })
    app.service('other-svc').on('task.created', () => {
      throw new Permanent('for a person')
    })
    await app.publish('task.created')
    await app.clock.advance(60_000)
    up = true
    await app.clock.advance(3_600_000)
    expect(await acts(app)).toMatchObject([{ who: 'recovery job of test', act: 'replay', count: 1 }])
  })
})

describe('an act and its entry are one commit', () => {
  it('where the entry can not be written nothing is done', async () => {
    const path = join(folder, 'refusing.db')
    const app = await opened({ transport: `sqlite:${path}` })
    const letters = someLetters(2)
    await app.store.letters.keep(letters)
    await app.hand.pause('first')
    const plain = new DatabaseSync(path)
    plain.exec(`CREATE TRIGGER full BEFORE INSERT ON reprieve_audit BEGIN SELECT RAISE(ABORT, 'full'); END`)
    await expect(app.office.discard(letters.map(({ id }) => id))).rejects.toThrow(/full/)
    await expect(app.hand.pause('mail-svc')).rejects.toThrow(/full/)
    await expect(app.hand.breaker('crm', 'open')).rejects.toThrow(/full/)
    await expect(app.hand.resume('first')).rejects.toThrow(/full/)
    expect(await app.store.letters.count({ states: ['open'] })).toBe(2)
    expect((await app.hand.paused()).map(({ service }) => service)).toEqual(['first'])
    expect(await app.hand.breakers()).toEqual([])
    plain.exec('DROP TRIGGER full')
    plain.close()
    await app.office.discard(letters.map(({ id }) => id))
    expect(await app.audit.verify()).toMatchObject({ count: 2 })
  })

  it('a file made before there was an audit has one once it is opened, whatever its version', async () => {
    const path = join(folder, 'before.db')
    await (await reprieve({ transport: `sqlite:${path}` })).close()
    const older = new DatabaseSync(path)
    older.exec('DROP TABLE reprieve_audit; DROP TABLE reprieve_audit_head')
    older.close()
    const app = await opened({ transport: `sqlite:${path}` })
    await app.hand.pause('mail-svc')
    expect(await app.audit.verify()).toMatchObject({ count: 1 })
  })
})

describe('a board in another store', () => {
  it('has the intent written before, and how it ended after', async () => {
    const app = await opened({ transport: 'memory:', board: 'memory:' })
    await app.hand.pause('mail-svc', { reason: 'too hot' })
    expect(await app.hand.paused()).toMatchObject([{ service: 'mail-svc' }])
    expect(await acts(app)).toMatchObject([
      { act: 'pause', count: 0, reason: 'too hot', details: { step: 'intent' } },
      { act: 'pause', count: 1, reason: 'too hot', details: { step: 'done', intent: 1 } },
    ])
  })

  it('that does not answer leaves what is known: it was tried', async () => {
    const { store, audit } = await opened({ transport: 'memory:' })
    const board = { ...store.board, post: () => Promise.reject(new TypeError('secret://gone')) }
    const hand = createHand(board, () => 7, { enact: enactApart(store.audit, board, () => 8) })
    await expect(hand.pause('mail-svc')).rejects.toThrow('gone')
    expect(await acts({ audit })).toMatchObject([
      { act: 'pause', count: 0, details: { step: 'intent' } },
      { act: 'pause', count: 0, details: { step: 'unsure', intent: 1, error: 'TypeError' } },
    ])
    expect(JSON.stringify(await audit.list())).not.toContain('secret')
  })
})

describeWith('redis', 'a real board in another store', (url) => {
  it('is ordered on between intent and end', async () => {
    const service = `audit-${randomUUID()}`
    const app = await opened({ transport: `sqlite:${join(folder, 'beside-redis.db')}`, board: url })
    await app.hand.pause(service, { lasts: 5000 })
    expect((await app.hand.paused()).map((each) => each.service)).toContain(service)
    await app.hand.resume(service)
    expect((await acts(app)).map(({ act, details: { step } }) => [act, step])).toEqual([
      ['pause', 'intent'],
      ['pause', 'done'],
      ['resume', 'intent'],
      ['resume', 'done'],
    ])
    expect(await app.audit.verify()).toMatchObject({ count: 4 })
  })
})
