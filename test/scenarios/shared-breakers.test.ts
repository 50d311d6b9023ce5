import { describe, expect, it } from 'vitest'
import type { Board } from '../../src/contracts/board.ts'
import { world } from './several.ts'

describe('a breaker that three processes share', () => {
  it('opens at once in the process that has failures, and in no other', async () => {
    const { all, clock, close } = await world(3)
    const [bad, ...well] = all
    bad!.up = false
    await bad!.send(5)
    for (const each of well) await each.send(5)
    await clock.advance(20_000)
    expect(bad!.states()).toEqual(['open'])
    for (const each of well) {
      expect(each.states()).toEqual([])
      await each.send(20)
    }
    await clock.advance(5 * 60_000)
    for (const each of well) expect([each.states(), each.done()]).toEqual([[], 25])
    bad!.up = true
    await clock.advance(60_000)
    expect(bad!.done()).toBe(5)
    expect(bad!.states().at(-1)).toBe('closed')
    await close()
  })

  it('opens in all when a second one has failures of its own', async () => {
    const { all, clock, close } = await world(3)
    const [first, second, third] = all
    first!.up = second!.up = third!.up = false
    await first!.send(3)
    await clock.advance(5000)
    await second!.send(3)
    await clock.advance(2000)
    expect(all.map(({ states }) => states())).toEqual([['open'], ['open'], ['open']])
    await third!.send(10)
    await clock.advance(20_000)
    // it never tried: the evidence of the others was enough
    expect(third!.calls).toBe(0)
    await close()
  })

  it('lets one probe through over all processes, and its success closes it in all', async () => {
    const { all, clock, at, close } = await world(3)
    for (const each of all) {
      each.up = false
      await each.send(10)
    }
    await clock.advance(10_000)
    expect(all.map(({ states }) => states().at(-1))).toEqual(['open', 'open', 'open'])
    const before = all.map(({ calls }) => calls)
    at.most = 0
    for (const each of all) each.took = 2000
    await clock.advance(10 * 60_000)
    expect(at.most).toBe(1)
    const probes = all.reduce((sum, { calls }, n) => sum + calls - before[n]!, 0)
    expect(probes).toBeGreaterThanOrEqual(15)
    expect(probes).toBeLessThanOrEqual(21)
    for (const each of all) each.up = true
    await clock.advance(120_000)
    expect(all.map(({ states }) => states().at(-1))).toEqual(['closed', 'closed', 'closed'])
    expect(all.map(({ done }) => done())).toEqual([10, 10, 10])
    await close()
  })

  it('opens again in all when the probe fails, and never calls more than the probes', async () => {
    const { all, clock, close } = await world(2)
    for (const each of all) {
      each.up = false
      await each.send(3)
    }
    await clock.advance(10_000)
    const before = all.map(({ calls }) => calls)
    await clock.advance(24_000)
    const probes = all.map(({ calls }, n) => calls - before[n]!)
    expect(probes.toSorted()).toEqual([0, 1])
    expect(all.map(({ states }) => states().at(-1))).toEqual(['open', 'open'])
    await close()
  })

  it('a probe that never answers gives its place to another process when its lease is over', async () => {
    const { all, clock, close } = await world(2, {
      crm: 'timeout: 1h, breaker: { failures: 3, open: 10s, probes: 1, successes: 1, probeLease: 20s }',
    })
    for (const each of all) {
      each.up = false
      await each.send(3)
    }
    await clock.advance(5000)
    const calls = () => all.reduce((sum, each) => sum + each.calls, 0)
    const before = calls()
    for (const each of all) Object.assign(each, { up: true, took: 3_600_000 })
    await clock.advance(9000)
    expect(calls()).toBe(before + 1)
    for (const each of all) each.took = 0
    await clock.advance(14_000)
    expect(calls()).toBe(before + 1)
    expect(all.map(({ states }) => states().at(-1))).not.toContain('closed')
    await clock.advance(9000)
    expect(all.map(({ states }) => states().at(-1))).toEqual(['closed', 'closed'])
    await close()
  })

  it.each(['open: 1s', 'open: 500ms', 'open: 10s, probeLease: 1s'])(
    'is probed soon by whoever waits, with %s: whoever was told to come again finds the lease it asked for',
    async (rules) => {
      const { all, clock, close } = await world(2, {
        crm: `timeout: 1h, breaker: { failures: 3, ${rules}, probes: 1, successes: 1 }`,
      })
      for (const each of all) {
        each.up = false
        await each.send(3)
      }
      await clock.advance(60_000)
      for (const each of all) each.up = true
      await clock.advance(20_000)
      expect(all.map(({ states }) => states().at(-1))).toEqual(['closed', 'closed'])
      expect(all.map(({ done }) => done())).toEqual([3, 3])
      await close()
    },
  )

  it('a process that starts during an outage asks nothing, and takes part in the probing', async () => {
    const { all, start, clock, close } = await world(2)
    for (const each of all) {
      each.up = false
      await each.send(3)
    }
    await clock.advance(10_000)
    const late = await start('late')
    late.up = false
    await clock.advance(100)
    await late.send(20)
    await clock.advance(12_000)
    expect([late.states(), late.calls]).toEqual([['open'], 0])
    for (const each of [...all, late]) each.up = true
    await clock.advance(90_000)
    expect(late.done()).toBe(20)
    await clock.runUntil(late.app.drain())
    await close()
  })

  it('closes by a ramp where the rules have one, in all', async () => {
    const { all, clock, close } = await world(2, {
      crm: 'breaker: { failures: 3, open: 10s, probes: 1, successes: 2, ramp: 60s }',
    })
    for (const each of all) {
      each.up = false
      await each.send(3)
    }
    await clock.advance(5000)
    for (const each of all) each.up = true
    await clock.advance(20_000)
    expect(all.map(({ states }) => states().at(-1))).toEqual(['closed', 'closed'])
    for (const each of all) await each.send(50)
    await clock.advance(1000)
    for (const each of all) expect(each.done()).toBeLessThan(40)
    await clock.advance(120_000)
    expect(all.map(({ done }) => done())).toEqual([53, 53])
    await close()
  })

  it('needs as many as the rules say', async () => {
    const { all, clock, close } = await world(4, { crm: 'breaker: { failures: 3, open: 5m, quorum: 3 }' })
    const trip = async (n: number) => {
      all[n]!.up = false
      await all[n]!.send(3)
      await clock.advance(5000)
    }
    await trip(0)
    await trip(1)
    expect(all.map(({ states }) => states().length)).toEqual([1, 1, 0, 0])
    await trip(2)
    expect(all.map(({ states }) => states().length)).toEqual([1, 1, 1, 1])
    await close()
  })

  it('goes by the operator’s hand before all, and by itself when that is gone', async () => {
    const { all, clock, close, hand } = await world(2)
    for (const each of all) {
      each.up = false
      await each.send(3)
    }
    await clock.advance(5000)
    for (const each of all) each.up = true
    await hand.breaker('crm', 'closed', { by: 'ann' })
    await clock.advance(3000)
    expect(all.map(({ states }) => states().at(-1))).toEqual(['forced closed', 'forced closed'])
    await hand.breaker('crm', 'release')
    await clock.advance(5000)
    expect(all.map(({ states }) => states().at(-1))).toEqual(['closed', 'closed'])
    await close()
  })
})

/** A board that can be taken away: it rejects, or never answers. */
const breakable = () => {
  const it = { is: 'there' as 'there' | 'down' | 'silent' }
  const through = <T>(go: () => Promise<T>): Promise<T> =>
    it.is === 'there'
      ? go()
      : it.is === 'down'
        ? Promise.reject(new Error('no board'))
        : new Promise<never>(() => {})
  const board = (own: Board): Board => ({
    post: (...args) => through(() => own.post(...args)),
    read: (prefix) => through(() => own.read(prefix)),
  })
  return Object.assign(it, { board })
}

describe('without its board', () => {
  it.for(['down', 'silent'] as const)('each goes by its own evidence while it is %s', async (how) => {
    const access = breakable()
    const { all, clock, last, close } = await world(3, { board: access.board })
    const [bad, worse, well] = all
    access.is = how
    await clock.advance(6000)
    bad!.up = worse!.up = false
    for (const each of all) await each.send(5)
    await clock.advance(10_000)
    expect(last()).toEqual(['open', 'open', undefined])
    await well!.send(20)
    bad!.up = worse!.up = true
    await clock.advance(90_000)
    expect(last()).toEqual(['closed', 'closed', undefined])
    expect(all.map(({ done }) => done())).toEqual([5, 5, 25])
    if (how === 'down') {
      for (const { only } of all) expect(only('trouble')).toMatchObject([{ where: 'the board' }])
    }
    await close()
  })

  it('taken away in an outage: each probes by itself, and when it is back all is shared again', async () => {
    const access = breakable()
    const { all, clock, close, last, at } = await world(3, { board: access.board })
    for (const each of all) {
      each.up = false
      await each.send(5)
    }
    await clock.advance(5000)
    expect(last()).toEqual(['open', 'open', 'open'])
    access.is = 'down'
    await clock.advance(10 * 60_000)
    access.is = 'there'
    await clock.advance(40_000)
    for (const each of all) each.took = 1000
    at.most = 0
    await clock.advance(5 * 60_000)
    expect(at.most).toBe(1)
    for (const each of all) each.up = true
    await clock.advance(90_000)
    expect(last()).toEqual(['closed', 'closed', 'closed'])
    expect(all.map(({ done }) => done())).toEqual([5, 5, 5])
    await close()
  })

  it('a board that has forgotten everything is told again what each has seen', async () => {
    const { all, clock, close, board, hand } = await world(2, {
      crm: 'breaker: { failures: 3, open: 5m, quorum: 2 }',
    })
    all[0]!.up = false
    await all[0]!.send(3)
    await clock.advance(2000)
    for (const { entry } of await board.read('')) await board.post(entry, null, 1)
    await clock.advance(12_000)
    expect((await hand.breakers()).map(({ whole }) => whole?.tripped.length)).toEqual([1, 1])
    all[1]!.up = false
    await all[1]!.send(3)
    await clock.advance(2000)
    expect((await hand.breakers()).map(({ whole }) => whole?.state)).toEqual(['open', 'open'])
    await close()
  })
})
