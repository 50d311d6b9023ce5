import { describe, expect, it } from 'vitest'
import type { Delivery, Subscription, Transport } from '../contracts/transport.ts'
import { freshParcel, type Parcel } from '../core/parcel.ts'
import { testTools } from '../testing/tools.ts'
import { type Coming, createMover } from './moving.ts'
import type { Plan } from './plan.ts'
import type { Settler } from './settle.ts'

const subscription: Subscription = {
  service: 'stock-svc',
  topic: 'stock',
  consumerGroup: 'stock-svc',
  types: ['stock.*'],
  order: 'key',
  lease: 1000,
  window: 100,
  destinations: [],
}
const plan = {
  rulesOf: (_: string, type: string) => ({ order: type === 'stock.moved' ? 'key' : 'none' }),
  handlerOf: (_: unknown, type: string) => (type.startsWith('stock.') ? 'stock.*' : undefined),
} as unknown as Plan

/** `ill` are the order keys that the companion can't take. */
const bench = () => {
  const log: string[] = []
  const ill = new Set<string>()
  const tools = testTools()
  const stop = new AbortController()
  const companion = {
    name: 'sqlite',
    forward: async (_: unknown, parcels: readonly Parcel[]) => {
      if (parcels.some(({ event }) => ill.has(String(event.extensions.orderkey))))
        throw new Error('it is full')
      log.push(`forward ${parcels.map(({ event }) => event.id).join(' ')}`)
    },
  } as unknown as Transport
  const settler: Settler = {
    settle: (step, answer) => {
      log.push(`${step.do} ${step.delivery.parcel.event.id}`)
      answer('done')
    },
    leave: () => {},
    idle: async () => {},
  }
  const left: string[] = []
  const leave = ({ delivery }: Coming) => void left.push(delivery.parcel.event.id)
  const mover = createMover({ subscription, plan, companion, settler, tools, stop: stop.signal, leave })
  const arrive = (...names: readonly string[]) =>
    mover.takeOut(names.map((name) => coming(name))).map(({ delivery }) => delivery.parcel.event.id)
  const forwards = () => log.filter((line) => line.startsWith('forward')).map((line) => line.slice(8))
  return { mover, arrive, log, forwards, ill, stop, left, ...tools }
}

/** a1 is the first with order key a; -1 has none. */
const coming = (name: string, type = 'stock.moved'): Coming => {
  const orderkey = name.startsWith('-') ? {} : { orderkey: name[0]! }
  const event = { id: name, source: 's', type, extensions: orderkey, headers: {}, data: null }
  const delivery: Delivery = { parcel: freshParcel(event, 0), redelivered: false }
  return { delivery, goOut: () => {} }
}

describe('moving ordered events to the companion', () => {
  it('forwards a gulp at once in the order of arrival, and acknowledges after', async () => {
    const { mover, arrive, log, left } = bench()
    expect(arrive('a1', 'b1', 'a2')).toEqual([])
    arrive('a3', 'b2')
    await mover.idle()
    expect(log).toEqual([
      'forward a1 b1 a2',
      'ack a1',
      'ack b1',
      'ack a2',
      'forward a3 b2',
      'ack a3',
      'ack b2',
    ])
    expect(left).toEqual(['a1', 'b1', 'a2', 'a3', 'b2'])
  })

  it('leaves alone what has no order key, is of an unordered type, is for no handler, or can not be read', async () => {
    const { mover, log } = bench()
    const broken = coming('a4')
    const staying = [
      coming('-1'),
      coming('a2', 'stock.noted'),
      coming('a3', 'other.moved'),
      { ...broken, delivery: { ...broken.delivery, broken: 'no JSON' } },
    ]
    expect(mover.takeOut(staying)).toEqual(staying)
    await mover.idle()
    expect(log).toEqual([])
  })

  it('holds up only the key that the companion can not take, and then goes on in its order', async () => {
    const { mover, arrive, forwards, ill, clock, facts } = bench()
    ill.add('a')
    arrive('a1', 'b1')
    arrive('a2', 'c1')
    await clock.advance(200)
    expect(forwards()).toEqual(['c1', 'b1'])
    arrive('a3', 'b2', 'd1')
    await clock.advance(0)
    expect(forwards()).toEqual(['c1', 'b1', 'b2 d1'])
    expect(facts).toContainEqual(expect.objectContaining({ is: 'trouble', retryIn: 200 }))
    ill.clear()
    await clock.runUntil(mover.idle())
    expect(forwards()).toEqual(['c1', 'b1', 'b2 d1', 'a1 a2 a3'])
    arrive('a4')
    await mover.idle()
    expect(forwards().at(-1)).toBe('a4')
  })

  it('after the stop nothing more is forwarded: it stays with its broker', async () => {
    const { mover, arrive, log, ill, clock, stop } = bench()
    ill.add('a')
    arrive('a1')
    await clock.advance(100)
    stop.abort()
    ill.clear()
    await mover.idle()
    arrive('b1')
    await clock.advance(10_000)
    expect(log).toEqual([])
  })
})
