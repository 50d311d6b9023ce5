import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, describe, expect, it } from 'vitest'
import type { Delivery, Inlet, Subscription } from '../../contracts/transport.ts'
import type { Event } from '../../core/event.ts'
import { writeLetter } from '../../core/letter.ts'
import { freshParcel } from '../../core/parcel.ts'
import { testTools } from '../../testing/tools.ts'
import { IN_LINE } from './dead-keys.ts'
import { open } from './index.ts'

const folder = mkdtempSync(join(tmpdir(), 'reprieve-order-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const never = new AbortController().signal

const subscription = (order: Subscription['order']): Subscription => ({
  service: 'recurrence-svc',
  topic: 'todo.task.done',
  consumerGroup: 'recurrence-svc',
  types: ['*'],
  order,
  lease: 30_000,
  window: 500,
  destinations: [],
})

const event = (id: string, extensions: Event['extensions'] = {}): Event => ({
  id,
  source: '/test',
  type: 'todo.task.done',
  extensions,
  headers: {},
  data: null,
})
const keyed = (id: string, orderkey: string): Event => event(id, { orderkey })
const ids = (deliveries: readonly Delivery[]) => deliveries.map(({ parcel }) => parcel.event.id)
const acks = (deliveries: readonly Delivery[]) =>
  deliveries.map((delivery) => ({ do: 'ack' as const, delivery }))

const failure = { category: 'permanent', kind: 'business', name: 'E', message: 'no', because: 'so' } as const
const letterOf = ({ parcel }: Delivery) =>
  writeLetter(parcel, { ...subscription('key'), transport: 'sqlite' }, 'dlq', {
    reason: 'permanent',
    failure,
    at: 0,
    limit: 1,
    fingerprint: 'f',
  })

let files = 0
const desk = async (order: Subscription['order']) => {
  const url = `sqlite:${join(folder, `${++files}.db`)}`
  const tools = testTools()
  const { transport } = await open(url, tools)
  const to = subscription(order)
  const apart = async () => (await open(url, { ...tools, clock: { ...tools.clock } })).transport.subscribe(to)
  return { transport, tools, to, inlet: await transport.subscribe(to), apart }
}

/** What is there now, without waiting. */
const present = async (inlet: Inlet): Promise<readonly Delivery[]> => {
  const stop = new AbortController()
  const receiving = inlet.receive(100, stop.signal)
  for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve))
  stop.abort()
  return receiving
}

describe('order by key', () => {
  it('holds up the followers of a key in retry, in other processes too, and nobody else', async () => {
    const at = await desk('key')
    const other = await at.apart()
    await at.transport.publish(at.to.topic, [
      keyed('a1', 'a'),
      keyed('a2', 'a'),
      keyed('b1', 'b'),
      event('n'),
    ])
    const [a1, ...others] = await at.inlet.receive(10, never)
    expect(ids([a1!, ...others])).toEqual(['a1', 'b1', 'n'])
    expect(await at.inlet.lag()).toMatchObject({ waiting: 1 })
    const parcel = { ...a1!.parcel, due: at.tools.clock.now() + 5000 }
    await at.inlet.settle([{ do: 'later', delivery: a1!, parcel }])
    await at.transport.publish(at.to.topic, [keyed('a3', 'a')])
    expect(await present(other)).toEqual([])
    await at.tools.clock.advance(5000)
    const [again] = await present(other)
    expect(ids([again!])).toEqual(['a1'])
    expect(await present(at.inlet)).toEqual([])
    await other.settle(acks([again!]))
    expect(ids(await present(at.inlet))).toEqual(['a2'])
  })

  it('can be asked for, or given up, while parcels lie there', async () => {
    const at = await desk('none')
    const publish = (...some: Event[]) => at.transport.publish(at.to.topic, some)
    await publish(keyed('a1', 'a'), keyed('a2', 'a'), keyed('b1', 'b'), event('n'))
    await at.inlet.close()
    const ordered = await at.transport.subscribe({ ...at.to, order: 'key' })
    const got = await present(ordered)
    expect(ids(got)).toEqual(['a1', 'b1', 'n'])
    await ordered.settle(acks(got.slice(1)))
    await publish(keyed('a3', 'a'))
    await ordered.close()
    const loose = await at.transport.subscribe(at.to)
    expect(ids(await present(loose))).toEqual(['a1', 'a2', 'a3'])
  })

  it('that is given up frees what a dead event held, and asked for again holds it no more', async () => {
    const at = await desk('key')
    await at.transport.publish(at.to.topic, [keyed('a1', 'a'), keyed('a2', 'a'), keyed('a3', 'a')])
    const [a1] = await present(at.inlet)
    const letter = { ...letterOf(a1!), id: 'l-1' }
    await at.inlet.settle([{ do: 'bury', delivery: a1!, to: 'dlq', letter, holds: true }])
    expect(await present(at.inlet)).toEqual([])
    await at.inlet.close()
    await (await at.transport.subscribe({ ...at.to, order: 'none' })).close()
    const again = await at.transport.subscribe(at.to)
    expect(await at.transport.behind?.(at.to, [{ orderKey: 'a', letter: 'l-1' }])).toEqual([0])
    const [a2] = await present(again)
    expect(ids([a2!])).toEqual(['a2'])
    await again.settle(acks([a2!]))
    expect(ids(await present(again))).toEqual(['a3'])
  })

  it('can be given up for one type and asked for another, and nobody stays parked', async () => {
    const at = await desk('key')
    const of = (type: string, id: string): Event => ({ ...keyed(id, 'a'), type })
    await at.inlet.close()
    const first = await at.transport.subscribe({ ...at.to, ordering: { types: ['x', 'y'], others: ['z'] } })
    await at.transport.publish(at.to.topic, [
      of('x', 'x1'),
      of('y', 'y1'),
      of('z', 'z1'),
      of('y', 'y2'),
      of('z', 'z2'),
    ])
    expect(ids(await present(first))).toEqual(['x1', 'z1', 'z2'])
    await first.close()
    const second = await at.transport.subscribe({ ...at.to, ordering: { types: ['y', 'z'], others: ['x'] } })
    const got = await present(second)
    expect(ids(got)).toEqual(['x1', 'y1'])
    await second.settle(acks(got))
    const next = await present(second)
    expect(ids(next)).toEqual(['z1'])
    await second.settle(acks(next))
    expect(ids(await present(second))).toEqual(['y2'])
  })

  it('tells by the index alone whether a long line knows a parcel', async () => {
    const at = await desk('key')
    const events = Array.from({ length: 5000 }, (_, n) => keyed(`a${n}`, 'a'))
    const parcels = events.map((each) => freshParcel(each, at.tools.clock.now()))
    await at.transport.forward(at.to, parcels)
    await at.transport.forward(at.to, parcels)
    expect(await at.inlet.lag()).toMatchObject({ waiting: 5000 })
    const file = new DatabaseSync(join(folder, `${files}.db`), { readOnly: true })
    const plan = file.prepare(`EXPLAIN QUERY PLAN ${IN_LINE}`).all(1, 'a1', 'a', '/test')
    file.close()
    expect(JSON.stringify(plan)).toContain('reprieve_parcel_line (subscription=? AND event=?)')
  })
})
