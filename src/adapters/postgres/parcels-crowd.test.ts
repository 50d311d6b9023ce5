import { randomBytes, randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeWith } from '../../../test/services/urls.ts'
import { type Desk, deskAt, plainly } from '../../../test/stores/postgres.ts'
import { until } from '../../../test/until.ts'
import type { Delivery, Inlet, Settlement, Subscription, Transport } from '../../contracts/transport.ts'
import type { Event } from '../../core/event.ts'
import { sampleLetters } from '../../testing/letters.ts'

const int = (below: number): number => Math.floor(Math.random() * below)

const KEYS = 6
const PUBLISHERS = 4
const ROUNDS = 25

const TO: Subscription = {
  ...{ service: 'crowd', topic: 'moved', consumerGroup: 'crowd', types: ['*'], order: 'key' },
  ...{ lease: 60_000, window: 20, poll: 20, destinations: [{ name: 'dead' }] },
  ledgerKey: ({ event, trail: { spent, generation } }) => ({
    ...{ service: 'crowd', id: event.id, hash: 'h', ttl: 60_000 },
    ...{ attempt: spent + 1, generation },
  }),
}

describeWith('postgres', 'many processes at the same keys in one PostgreSQL', (url) => {
  // a database of its own, for the server counts deadlocks by database
  const name = `keys_${randomBytes(6).toString('hex')}`
  const at = new URL(url)
  at.pathname = `/${name}`
  let desk: Desk
  beforeAll(async () => {
    await plainly(url, `CREATE DATABASE ${name}`)
    desk = await deskAt(at.href)
  })
  afterAll(async () => {
    await desk.close()
    await plainly(url, `DROP DATABASE ${name} WITH (FORCE)`)
  })

  it('publish, take, put off, bury, hold and release at once: of a key one is out at a time, in order, and none waits in a circle', async () => {
    const stores = await Promise.all(Array.from({ length: PUBLISHERS }, () => desk.open({ pool: '3' })))
    const transports = stores.map(({ companion }) => companion!)
    const inlets = await Promise.all(transports.map((transport) => transport.subscribe(TO)))
    const others = await transports[0]!.subscribe({ ...TO, service: 'else', order: 'none' })
    const all = PUBLISHERS * ROUNDS * KEYS
    const out = new Set<string>()
    const ended = new Map<string, number[]>()
    let count = 0
    let overlaps = 0
    const stop = new AbortController()

    /** Each round has every key, in an order of its own: who locks keys as they come meets others in a circle. */
    const publishing = async (transport: Transport, publisher: number): Promise<void> => {
      for (let n = 0; n < ROUNDS; n++) {
        const keys = Array.from({ length: KEYS }, (_, k) => k).sort(() => int(3) - 1)
        await transport.publish(
          'moved',
          keys.map((key) => eventOf(key, publisher, n)),
        )
      }
    }
    const settlementOf = (delivery: Delivery): Settlement => {
      const what = int(10)
      if (what < 2) return { do: 'later', delivery, parcel: { ...delivery.parcel, due: desk.clock.now() } }
      if (what < 3) return { do: 'give back', delivery }
      if (what > 7) {
        const { trail } = delivery.parcel
        const [letter] = sampleLetters(1, desk.clock.now(), () => ({ id: randomUUID(), trail }))
        return { do: 'bury', delivery, to: 'dead', letter: letter!, holds: what === 9 }
      }
      return { do: 'ack', delivery }
    }
    const consuming = async (inlet: Inlet, transport: Transport): Promise<void> => {
      while (!stop.signal.aborted) {
        const batch = await inlet.receive(1 + int(8), stop.signal)
        for (const { parcel } of batch) {
          const key = keyOf(parcel.event)
          if (out.has(key)) overlaps++
          out.add(key)
        }
        const extending = inlet.extend(batch, desk.clock.now() + 60_000)
        const settlements = batch.map(settlementOf)
        for (const { parcel } of batch) out.delete(keyOf(parcel.event))
        for (const each of settlements) if (each.do === 'ack' || each.do === 'bury') noteEnd(each)
        const answers = await inlet.settle(settlements)
        await extending
        expect(answers).toEqual(answers.map(() => 'done'))
        for (const each of settlements) {
          if (each.do !== 'bury' || !each.holds) continue
          await transport.release!(TO, [
            { orderKey: keyOf(each.delivery.parcel.event), letter: each.letter.id },
          ])
        }
      }
    }
    const noteEnd = ({ delivery }: Settlement): void => {
      const { key, publisher, n } = dataOf(delivery.parcel.event)
      const line = `${key} ${publisher}`
      ended.set(line, [...(ended.get(line) ?? []), n])
      if (++count === all) stop.abort()
    }

    const consumed = inlets.map((inlet, i) => consuming(inlet, transports[i]!))
    consumed.push(...inlets.slice(0, 2).map((inlet, i) => consuming(inlet, transports[i]!)))
    const published = Promise.all(transports.map(publishing))
    published.catch(() => stop.abort()) // told below
    await Promise.all([published, ...consumed])

    expect(overlaps).toBe(0)
    const wanted = Array.from({ length: ROUNDS }, (_, n) => n)
    expect(ended.size).toBe(KEYS * PUBLISHERS)
    for (const [line, ns] of ended) expect(ns, line).toEqual(wanted)
    expect(await inlets[0]!.lag()).toEqual({ waiting: 0 })
    expect(await others.lag()).toMatchObject({ waiting: all })
    const left = `SELECT count(*)::integer AS n FROM ${desk.schema}.parcel AS p
      JOIN ${desk.schema}.subscription AS s ON s.id = p.subscription WHERE s.service = 'crowd'`
    expect(await desk.ask(left)).toEqual([{ n: 0 }])
    const stat = `SELECT deadlocks::integer AS n FROM pg_stat_database WHERE datname = '${name}'`
    expect(await desk.ask(stat)).toEqual([{ n: 0 }])
  })
})

describeWith('postgres', 'publishers of one key in PostgreSQL', (url) => {
  it('that begin at the same moment are in one line: the first is ready, and the others wait behind it', async () => {
    const desk = await deskAt(url)
    const stores = await Promise.all([desk.open(), desk.open()])
    const inlet = await stores[0]!.companion!.subscribe(TO)
    await stores[1]!.companion!.publish('moved', [eventOf(99, 0, 0)])
    const blocker = new pg.Client({ connectionString: url })
    await blocker.connect()
    for (let round = 0; round < 5; round++) {
      // nobody can write until all have come as far as that
      await blocker.query(`BEGIN; LOCK TABLE ${desk.schema}.parcel IN SHARE MODE`)
      const publishing = Array.from({ length: 8 }, (_, n) =>
        stores[n % 2]!.companion!.publish('moved', [eventOf(round, n, 0)]),
      )
      const waiting = `SELECT count(*)::integer AS n FROM pg_stat_activity
        WHERE wait_event_type = 'Lock' AND query LIKE '%${desk.schema}.parcel%'`
      await until('a writer to wait', async () => (await desk.ask(waiting))[0]!.n !== 0)
      await blocker.query('COMMIT')
      await Promise.all(publishing)
      const ready = `SELECT count(*)::integer AS n FROM ${desk.schema}.parcel WHERE order_key = 'k${round}' AND at = due`
      expect(await desk.ask(ready)).toEqual([{ n: 1 }])
    }
    await blocker.end()
    await inlet.close()
    await desk.close()
  })
})

const eventOf = (key: number, publisher: number, n: number): Event => ({
  ...{ id: `${key}-${publisher}-${n}`, source: 'crowd', type: 'moved', headers: {} },
  extensions: { orderkey: `k${key}` },
  data: Buffer.from(JSON.stringify({ key, publisher, n })),
})

const dataOf = ({ data }: Event): { key: number; publisher: number; n: number } =>
  JSON.parse(Buffer.from(data!).toString())

const keyOf = ({ extensions }: Event): string => String(extensions.orderkey)
