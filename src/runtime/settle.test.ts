import { describe, expect, it } from 'vitest'
import type { Finish, Ledger } from '../contracts/ledger.ts'
import type { Delivery, Inlet, Settled, Settlement, Transport } from '../contracts/transport.ts'
import { ReprieveError } from '../core/error.ts'
import type { Held } from '../core/ledger.ts'
import { freshParcel } from '../core/parcel.ts'
import { testTools } from '../testing/tools.ts'
import { createSettler, type Step } from './settle.ts'

const delivery = (id: string): Delivery => ({
  parcel: freshParcel({ id, source: 's', type: 't', extensions: {}, headers: {}, data: null }, 0),
  redelivered: false,
})
const held = (id: string): Held => ({
  key: { service: 's', id, hash: 'h', attempt: 1, generation: 0, ttl: 1000 },
  token: 1,
})

/** Writes down the order in which the others are asked; `answer` says how the inlet settles, `after` when. */
const bench = (
  answer: (settlement: Settlement) => Settled = () => 'done',
  after: (settlement: Settlement) => Promise<void> | undefined = () => undefined,
) => {
  const log: string[] = []
  const tools = testTools()
  const inlet = {
    settle: async (batch: readonly Settlement[]) => {
      log.push(`settle ${batch.map((each) => `${each.do} ${each.delivery.parcel.event.id}`).join(', ')}`)
      await Promise.all(batch.map(after))
      return batch.map(answer)
    },
  } as unknown as Inlet
  const ledger = {
    finish: async (ends: readonly Finish[]) => {
      log.push(`finish ${ends.map(({ held: { key }, as }) => `${key.id} ${as}`).join(', ')}`)
      return ends.map(() => true)
    },
  } as unknown as Ledger
  const companion = {
    forward: async (_: unknown, parcels: readonly unknown[]) => void log.push(`forward ${parcels.length}`),
  } as { forward: Transport['forward'] } as Transport
  const address = { service: 's', topic: 't', consumerGroup: 'g' }
  const stop = new AbortController()
  const abandon = new AbortController()
  const signals = { stop: stop.signal, abandon: abandon.signal }
  const { settle, leave, idle } = createSettler({ address, inlet, ledger, companion, tools, ...signals })
  const settler = {
    settle: (step: Step) => new Promise<Settled>((answer) => settle(step, answer)),
    leave,
    idle,
  }
  return { log, settler, stop, abandon, companion, ...tools }
}

const later = (id: string): Step => {
  const from = delivery(id)
  return {
    do: 'later',
    delivery: from,
    parcel: { ...from.parcel, trail: { ...from.parcel.trail, spent: 1 } },
    held: held(id),
  }
}

describe('the settler', () => {
  it('settles in one group what gathered in one turn', async () => {
    const { settler, log } = bench()
    await Promise.all(['a', 'b', 'c'].map((id) => settler.settle({ do: 'ack', delivery: delivery(id) })))
    expect(log).toEqual(['settle ack a, ack b, ack c'])
  })

  it('lets a group leave before the turn ends, where it is told to; what comes after goes with the turn', async () => {
    const { settler, log } = bench()
    const ack = (id: string) => settler.settle({ do: 'ack', delivery: delivery(id) })
    const first = [ack('a'), ack('b')]
    settler.leave()
    await Promise.all(first)
    settler.leave() // there is nobody
    const more = [ack('c'), ack('d')]
    expect(log).toEqual(['settle ack a, ack b'])
    await Promise.all(more)
    expect(log).toEqual(['settle ack a, ack b', 'settle ack c, ack d'])
  })

  it('keeps what needs a new home until the turn ends: each group waits for a confirmation', async () => {
    const { settler, log } = bench()
    const steps = [settler.settle(later('a'))]
    settler.leave()
    await Promise.resolve()
    steps.push(settler.settle(later('b')))
    await Promise.all(steps)
    expect(log[0]).toBe('settle later a, later b')
  })

  it('remembers an effect before the ack, and every other end after the new home is there', async () => {
    const { settler, log } = bench()
    await Promise.all([
      settler.settle({ do: 'ack', delivery: delivery('a'), held: held('a') }),
      settler.settle(later('b')),
      settler.settle({ do: 'give back', delivery: delivery('c'), held: held('c') }),
    ])
    const at = (line: string): number => log.indexOf(line)
    expect(log.toSorted()).toEqual(
      [
        'finish a done',
        'settle give back c, ack a',
        'finish c free',
        'settle later b',
        'finish b spent',
      ].toSorted(),
    )
    expect(at('finish a done')).toBeLessThan(at('settle give back c, ack a'))
    expect(at('settle later b')).toBeLessThan(at('finish b spent'))
  })

  it('lets no effect wait to be remembered until the broker has confirmed the copies of others', async () => {
    const confirmed = Promise.withResolvers<void>()
    const { settler, log } = bench(
      () => 'done',
      ({ do: what }) => (what === 'later' ? confirmed.promise : undefined),
    )
    const retry = settler.settle(later('a'))
    expect(await settler.settle({ do: 'ack', delivery: delivery('b'), held: held('b') })).toBe('done')
    expect(await settler.settle({ do: 'ack', delivery: delivery('c'), held: held('c') })).toBe('done')
    expect(log).toEqual(['settle later a', 'finish b done', 'settle ack b', 'finish c done', 'settle ack c'])
    confirmed.resolve()
    expect(await retry).toBe('done')
    expect(log.at(-1)).toBe('finish a spent')
  })

  it('moves to the companion before the original is acknowledged', async () => {
    const { settler, log } = bench()
    const step = later('a') as Extract<Step, { do: 'later' }>
    await settler.settle({ ...step, do: 'companion' })
    expect(log).toEqual(['forward 1', 'settle ack a', 'finish a spent'])
  })

  it('calls settled what the companion has, though its delivery was no longer ours: the attempt is spent', async () => {
    const { settler, log } = bench(() => 'lost')
    const { delivery: from, parcel } = later('a') as Extract<Step, { do: 'later' }>
    const step: Step = { do: 'companion', delivery: from, parcel, held: held('a') }
    expect(await Promise.all([settler.settle(step), settler.settle(later('b'))])).toEqual(['done', 'lost'])
    expect(log).toEqual(['forward 1', 'settle ack a, later b', 'finish a spent, b free'])
  })

  it('lets no one else suffer from a companion that takes nothing', async () => {
    let refusals = 1
    const { settler, log, clock, companion } = bench()
    companion.forward = async () => {
      if (refusals-- > 0) throw new Error('the disk is full')
      log.push('forward')
    }
    const step = later('a') as Extract<Step, { do: 'later' }>
    const moved = settler.settle({ ...step, do: 'companion' })
    expect(await settler.settle(later('b'))).toBe('done')
    expect(log).toEqual(['settle later b', 'finish b spent'])
    expect(await clock.runUntil(moved)).toBe('done')
    expect(log.slice(2)).toEqual(['forward', 'settle ack a', 'finish a spent'])
  })

  it('frees the claim of a delivery that was lost', async () => {
    const { settler, log } = bench(() => 'lost')
    expect(await settler.settle(later('a'))).toBe('lost')
    expect(log.at(-1)).toBe('finish a free')
  })

  it('tries again what would not go, while others pass', async () => {
    let failures = 2
    const { settler, log, clock, facts } = bench(({ delivery: { parcel } }) =>
      parcel.event.id === 'bad' && failures-- > 0 ? new Error('no route') : 'done',
    )
    const bad = settler.settle({ do: 'ack', delivery: delivery('bad') })
    expect(await settler.settle({ do: 'ack', delivery: delivery('good') })).toBe('done')
    expect(await clock.runUntil(bad)).toBe('done')
    expect(log).toEqual(['settle ack bad, ack good', 'settle ack bad', 'settle ack bad'])
    expect(facts.map(({ is }) => is)).toEqual(['trouble', 'trouble'])
  })

  it('hands back in the end, so that the event keeps a home, and does not call that done', async () => {
    const { settler, log, clock } = bench(({ do: what }) => (what === 'ack' ? new Error('no') : 'done'))
    expect(await clock.runUntil(settler.settle({ do: 'ack', delivery: delivery('a') }))).toEqual(
      new Error('no'),
    )
    expect(log.at(-1)).toBe('settle give back a')
    await settler.idle()
  })

  it('tries no more when it can wait no longer, and lets the claim go', async () => {
    const down = new ReprieveError('unavailable', 'nobody answers')
    const { settler, log, clock, stop, abandon } = bench(() => down)
    const answer = settler.settle(later('a'))
    await clock.advance(1000)
    stop.abort()
    abandon.abort()
    const tried = log.length
    expect(await clock.runUntil(answer)).toBe(down)
    expect(log.slice(tried)).toEqual(['settle later a', 'finish a free'])
    await settler.idle()
  })

  it('waits for a broker that is down, and hands back only when the service stops', async () => {
    const down = new ReprieveError('unavailable', 'nobody answers')
    const { settler, log, clock, stop } = bench(({ do: what }) => (what === 'later' ? down : 'done'))
    const answer = settler.settle(later('a'))
    await clock.advance(60_000)
    expect(log.length).toBeGreaterThan(10)
    expect(log.every((line) => line === 'settle later a')).toBe(true)
    stop.abort()
    expect(await clock.runUntil(answer)).toBe(down)
    expect(log.slice(-2)).toEqual(['settle give back a', 'finish a free'])
  })

  describe('what the broker will never carry', () => {
    const tooLarge = new ReprieveError('bad_event', 'too large')
    const refusing = () => bench(({ do: what }) => (what === 'ack' ? 'done' : tooLarge))
    const bury = (from: Delivery): Step =>
      ({ do: 'bury', delivery: from, to: 'dlq', letter: {}, held: held(from.parcel.event.id) }) as Step

    it('waits with the companion, and its attempt is spent', async () => {
      const { settler, log, clock } = refusing()
      expect(await clock.runUntil(settler.settle(later('a')))).toBe('done')
      expect(log).toEqual(['settle later a', 'forward 1', 'settle ack a', 'finish a spent'])
    })

    it('waits with the companion too where it was only tried in vain: handed back it would be run again for ever', async () => {
      const differs = new ReprieveError('topology_differs', 'the queue exists with another type')
      const { settler, log, clock } = bench(({ do: what }) => (what === 'later' ? differs : 'done'))
      expect(await clock.runUntil(settler.settle(later('a')))).toBe('done')
      expect(log.slice(0, 5)).toEqual(Array(5).fill('settle later a'))
      expect(log.slice(5)).toEqual(['forward 1', 'settle ack a', 'finish a spent'])
    })

    it('goes to the companion as it came where it was to be buried, and is not called buried by that', async () => {
      const { settler, log, clock, companion } = refusing()
      const moved: unknown[] = []
      companion.forward = async (_, parcels) => void moved.push(...parcels)
      const from = delivery('a')
      const due = clock.now()
      expect(await clock.runUntil(settler.settle(bury(from)))).toBe(tooLarge)
      expect(moved).toEqual([{ ...from.parcel, due }])
      expect(log).toEqual(['settle bury a', 'settle ack a', 'finish a free'])
    })

    it('stays where it is when it can not even be read: the companion would not know', async () => {
      const { settler, log, clock } = bench(({ do: what }) => (what === 'bury' ? tooLarge : 'done'))
      await clock.runUntil(settler.settle(bury({ ...delivery('a'), broken: 'no JSON' })))
      expect(log.at(-2)).toBe('settle give back a')
      expect(log).not.toContain('forward 1')
    })
  })
})
