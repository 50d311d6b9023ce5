import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Delivery, Inlet, Transport } from '../../contracts/transport.ts'
import type { Effect, Outgoing, Sql, StoreTx } from '../../contracts/tx.ts'
import type { Event } from '../../core/event.ts'
import { testTools } from '../../testing/tools.ts'
import { systemClock } from '../system/clock.ts'
import { open } from './index.ts'

const folder = mkdtempSync(join(tmpdir(), 'reprieve-effect-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const event = (id: string): Event => ({
  ...{ id, source: 's', type: 't', extensions: {}, headers: { h: 'x' }, data: Buffer.from('{"n":1}') },
})
const key = (id: string) => ({ service: 'svc', id, hash: 'h', attempt: 1, generation: 0, ttl: 1000 })
const effectOf = (id: string, run: (db: Sql) => unknown, outgoing: readonly Outgoing[] = []): Effect => ({
  key: key(id),
  run: (db) => {
    run(db)
    return outgoing
  },
})

let count = 0
let transport: Transport
let tx: StoreTx
let inlet: Inlet
let looking: DatabaseSync
let close: () => Promise<void>

beforeEach(async () => {
  const path = join(folder, `${count++}.db`)
  const opened = await open(`sqlite:${path}`, { ...testTools(), clock: systemClock })
  transport = opened.transport
  tx = opened.store.tx!
  inlet = await transport.subscribe({
    ...{ service: 'svc', topic: 't', consumerGroup: 'svc', types: ['t'], order: 'none', lease: 60_000 },
    ...{ window: 100, destinations: [] },
  })
  looking = new DatabaseSync(path)
  looking.exec('CREATE TABLE theirs (id TEXT UNIQUE)')
  close = async () => {
    await transport.close()
    await opened.store.close()
    looking.close()
  }
})
afterEach(() => close())

const rows = () =>
  looking
    .prepare('SELECT id FROM theirs ORDER BY id')
    .all()
    .map(({ id }) => id)
const insert = (id: string) => (db: Sql) => db.prepare('INSERT INTO theirs VALUES (?)').run(id)
const take = async (max = 10): Promise<readonly Delivery[]> =>
  inlet.receive(max, new AbortController().signal)

describe('an effect in a settlement', () => {
  it('is in one commit with the ack and the events it led to', async () => {
    await transport.publish('t', [event('a')])
    const [delivery] = await take()
    const effect = effectOf('a', insert('a'), [{ topic: 't', event: event('b') }])
    expect(await inlet.settle([{ do: 'ack', delivery: delivery!, effect }])).toEqual(['done'])
    expect(rows()).toEqual(['a'])
    const [next] = await take()
    expect(next?.parcel.event.id).toBe('b')
    expect(await inlet.settle([{ do: 'ack', delivery: delivery!, effect }])).toEqual(['lost'])
    expect(rows()).toEqual(['a'])
  })

  it('that fails leaves nothing, and its neighbours of the same commit go on', async () => {
    await transport.publish('t', ['a', 'b', 'c'].map(event))
    const [a, b, c] = await take()
    const fails = effectOf('b', (db) => {
      insert('b')(db)
      insert('a')(db) // a UNIQUE that is violated
    })
    const answers = await inlet.settle([
      { do: 'ack', delivery: a!, effect: effectOf('a', insert('a')) },
      { do: 'ack', delivery: b!, effect: fails },
      { do: 'ack', delivery: c!, effect: effectOf('c', insert('c')) },
    ])
    expect([answers[0], answers[2]]).toEqual(['done', 'done'])
    expect(String(answers[1])).toContain('UNIQUE')
    expect(rows()).toEqual(['a', 'c'])
    expect(await inlet.settle([{ do: 'ack', delivery: b!, effect: effectOf('b', insert('b')) }])).toEqual([
      'done',
    ])
  })

  it('is not repeated for a second parcel with the same id, which stays to be acknowledged', async () => {
    await transport.publish('t', [event('a'), event('a')])
    const [first, second] = await take()
    const effect = effectOf('a', (db) => db.exec("INSERT INTO theirs VALUES ('x' || random())"))
    expect(await inlet.settle([{ do: 'ack', delivery: first!, effect }])).toEqual(['done'])
    expect(await inlet.settle([{ do: 'ack', delivery: second!, effect }])).toEqual([
      expect.objectContaining({ code: 'already_done' }),
    ])
    const other = { ...effect, key: { ...key('a'), hash: 'other' } }
    expect(await inlet.settle([{ do: 'ack', delivery: second!, effect: other }])).toEqual([
      expect.objectContaining({ code: 'conflict' }),
    ])
    expect(rows()).toHaveLength(1)
    expect(await inlet.settle([{ do: 'ack', delivery: second! }])).toEqual(['done'])
  })

  it('that leads to an event nobody wants leaves nothing', async () => {
    await transport.publish('t', [event('a')])
    const [delivery] = await take()
    const effect = effectOf('a', insert('a'), [{ topic: 'nowhere', event: event('b') }])
    expect(await inlet.settle([{ do: 'ack', delivery: delivery!, effect }])).toEqual([
      expect.objectContaining({ code: 'unheard' }),
    ])
    expect(rows()).toEqual([])
  })
})

describe('what an effect may do', () => {
  it.each([
    ['COMMIT'],
    ['ROLLBACK'],
    ['SAVEPOINT mine'],
    ["ATTACH ':memory:' AS other"],
    ['PRAGMA synchronous = OFF'],
    ['DELETE FROM reprieve_parcel'],
    ['DROP TABLE reprieve_ledger'],
    ["UPDATE Reprieve_Meta SET value = 0 WHERE name = 'schema'"],
  ])('is not %s', async (statement) => {
    const ways = [
      (db: Sql) => db.exec(`INSERT INTO theirs VALUES ('a'); ${statement}`),
      (db: Sql) => db.prepare(statement).run(),
    ]
    for (const way of ways) {
      expect(await tx.commit(effectOf('a', way))).toMatchObject({ code: 'bad_usage' })
      expect(rows()).toEqual([])
    }
    expect(await tx.commit(effectOf('a', insert('a')))).toBe('done')
  })

  it('ends with it', async () => {
    let late: Sql | undefined
    await tx.commit(
      effectOf('a', (db) => {
        late = db
      }),
    )
    expect(() => late!.exec('DELETE FROM theirs')).toThrow(expect.objectContaining({ code: 'bad_usage' }))
  })

  it('ending the transaction by its own conflict clause is its own failure, and no neighbour suffers', async () => {
    const [bad, good] = await Promise.allSettled([
      tx.commit(
        effectOf('a', (db) => {
          insert('x')(db)
          db.exec("INSERT OR ROLLBACK INTO theirs VALUES ('x')")
        }),
      ),
      tx.commit(effectOf('b', insert('b'))),
    ])
    expect(bad.status === 'rejected' || bad.value instanceof Error).toBe(true)
    expect(good).toEqual({ status: 'fulfilled', value: 'done' })
    expect(rows()).toEqual(['b'])
  })
})

describe('the outbox in the file', () => {
  const relay = (most: number, answer: (id: string) => true | number = () => true) => {
    const seen: Event[] = []
    const now = Date.now()
    return tx.outbox
      .relay(most, now, async (events) => {
        seen.push(...events)
        return events.map(({ id }) => answer(id))
      })
      .then(() => seen)
  }
  const keep = (...events: readonly Event[]) =>
    tx.commit(
      effectOf(
        events.map(({ id }) => id).join(),
        () => {},
        events.map((each) => ({ topic: 't', event: each })),
      ),
    )

  it('hands over whole events in their order, once', async () => {
    expect(await relay(10)).toEqual([])
    await keep(event('a'), event('b'))
    await keep(event('c'))
    const seen = await relay(10)
    expect(seen.map(({ id }) => id)).toEqual(['a', 'b', 'c'])
    expect(seen[0]).toMatchObject({ source: 's', type: 't', headers: { h: 'x' } })
    expect(Buffer.from(seen[0]!.data!).toString()).toBe('{"n":1}')
    expect(await relay(10)).toEqual([])
  })

  it('keeps what could not be published, and those behind it with its order key', async () => {
    const keyed = (id: string, orderkey: string): Event => ({ ...event(id), extensions: { orderkey } })
    await keep(keyed('a1', 'a'), keyed('b1', 'b'), keyed('a2', 'a'))
    const later = Date.now() + 60_000
    expect((await relay(1, () => later)).map(({ id }) => id)).toEqual(['a1'])
    expect((await relay(10)).map(({ id }) => id)).toEqual(['b1'])
    await expect(
      tx.outbox.relay(10, later, () => Promise.reject(new Error('the broker is down'))),
    ).rejects.toThrow('down')
    const seen: string[] = []
    await tx.outbox.relay(10, later + 1, async (events) => {
      seen.push(...events.map(({ id }) => id))
      return events.map(() => true)
    })
    expect(seen).toEqual(['a1', 'a2'])
  })
})
