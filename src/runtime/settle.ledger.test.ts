import { describe, expect, it } from 'vitest'
import type { Finish, Ledger } from '../contracts/ledger.ts'
import type { Delivery, Inlet, Settled, Settlement } from '../contracts/transport.ts'
import { freshParcel } from '../core/parcel.ts'
import { testTools } from '../testing/tools.ts'
import { createSettler } from './settle.ts'

const delivery: Delivery = {
  parcel: freshParcel({ id: 'a', source: 's', type: 't', extensions: {}, headers: {}, data: null }, 0),
  redelivered: false,
}
const held = { key: { service: 's', id: 'a', hash: 'h', attempt: 1, generation: 0, ttl: 1000 }, token: 1 }

const bench = () => {
  const log: string[] = []
  const tools = testTools()
  const stop = new AbortController()
  const state = { down: true }
  const inlet = {
    settle: async (batch: readonly Settlement[]) => {
      log.push(...batch.map(({ do: what }) => what))
      return batch.map(() => 'done' as const)
    },
  } as unknown as Inlet
  const ledger = {
    finish: async (ends: readonly Finish[]) => {
      if (state.down) throw new Error('the ledger is down')
      log.push(...ends.map(({ as }) => `remembered ${as}`))
      return ends.map(() => true)
    },
  } as unknown as Ledger
  const settler = createSettler({
    address: { service: 's', topic: 't', consumerGroup: 'g' },
    inlet,
    ledger,
    companion: undefined,
    tools,
    stop: stop.signal,
  })
  const settling = new Promise<Settled>((answer) => settler.settle({ do: 'ack', delivery, held }, answer))
  return { log, state, stop, settling, ...tools }
}

describe('while the ledger is down', () => {
  it('an effect that happened is neither acknowledged nor handed back, for as long as it takes', async () => {
    const { log, state, settling, clock, facts } = bench()
    await clock.advance(30 * 60_000)
    expect(log).toEqual([])
    expect(facts.at(-1)).toMatchObject({ is: 'trouble', where: 'the ledger', retryIn: 5000 })
    state.down = false
    expect(await clock.runUntil(settling)).toBe('done')
    expect(log).toEqual(['remembered done', 'ack'])
  })

  it('a service that stops waits no longer: the event goes back, and is not called done', async () => {
    const { log, stop, settling, clock } = bench()
    await clock.advance(60_000)
    stop.abort()
    expect(await clock.runUntil(settling)).toBeInstanceOf(Error)
    expect(log).toEqual(['give back'])
  })
})

describe('while the broker does not answer', () => {
  it('an effect is remembered all the same, whatever is unanswered before it', async () => {
    const { clock, ...rest } = testTools()
    const remembered: string[] = []
    const ledger = {
      finish: async (ends: readonly Finish[]) => {
        remembered.push(...ends.map(({ held: { key }, as }) => `${key.id} ${as}`))
        return ends.map(() => true)
      },
    } as unknown as Ledger
    const asked: string[][] = []
    let answer = () => {}
    const answering = new Promise<void>((resolve) => {
      answer = resolve
    })
    const inlet = {
      settle: async (batch: readonly Settlement[]) => {
        asked.push(batch.map(({ delivery: { parcel } }) => parcel.event.id))
        await answering
        return batch.map(() => 'done' as const)
      },
    } as unknown as Inlet
    const address = { service: 's', topic: 't', consumerGroup: 'g' }
    const settler = createSettler({ address, inlet, ledger, companion: undefined, tools: { clock, ...rest } })
    const ended: string[] = []
    const effect = (id: string) => {
      const parcel = { ...delivery.parcel, event: { ...delivery.parcel.event, id } }
      const claim = { ...held, key: { ...held.key, id } }
      settler.settle({ do: 'ack', delivery: { ...delivery, parcel }, held: claim }, () => ended.push(id))
    }
    effect('a')
    await clock.advance(1)
    effect('b')
    await clock.advance(1)
    effect('c')
    await clock.advance(1)
    expect(asked).toEqual([['a']])
    expect(remembered).toEqual(['a done', 'b done', 'c done'])
    answer()
    await clock.runUntil(settler.idle())
    expect(asked).toEqual([['a'], ['b', 'c']])
    expect(ended).toEqual(['a', 'b', 'c'])
    expect(remembered).toEqual(['a done', 'b done', 'c done'])
  })
})
