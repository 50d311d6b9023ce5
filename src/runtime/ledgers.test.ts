import { describe, expect, it } from 'vitest'
import type { Finish, Ledger } from '../contracts/ledger.ts'
import type { Delivery, Settled, Subscription } from '../contracts/transport.ts'
import type { Held, LedgerKey } from '../core/ledger.ts'
import { freshParcel } from '../core/parcel.ts'
import { createLedgers, settlerByStore, withOwnClaims } from './ledgers.ts'
import type { Step } from './settle.ts'

const keyOf = (id: string, store?: string): LedgerKey => ({
  service: 's',
  id,
  hash: 'h',
  attempt: 1,
  generation: 0,
  ttl: 1000,
  ...(store !== undefined && { store }),
})
const heldOf = (id: string, store?: string): Held => ({ key: keyOf(id, store), token: 1 })

/** Writes down what it is asked; fails while it is down. */
const noting = (name: string, log: string[], down = () => false): Ledger => {
  const note = (what: string, ids: readonly string[]) => {
    if (down()) throw new Error(`${name} is down`)
    log.push(`${name} ${what} ${ids.join(' ')}`)
  }
  return {
    claim: async (keys) => {
      note(
        'claim',
        keys.map(({ id }) => id),
      )
      return keys.map((key) => ({ is: 'fresh', held: { key, token: 1 }, crashes: 0 }))
    },
    begin: async ({ key }) => {
      note('begin', [key.id])
      return key.id !== 'late'
    },
    renew: async (held) =>
      note(
        'renew',
        held.map(({ key }) => key.id),
      ),
    acquit: async (held) => {
      note(
        'acquit',
        held.map(({ key }) => key.id),
      )
      return held.map(({ key }) => key.id === 'late')
    },
    finish: async (ends) => {
      note(
        'finish',
        ends.map(({ held, as }) => `${held.key.id}:${as}`),
      )
      return ends.map(({ held }) => held.key.id !== 'late')
    },
  }
}

const bench = (down?: () => boolean) => {
  const log: string[] = []
  const ledgers = createLedgers(noting('own', log), new Map([['far', noting('far', log, down)]]))
  return { log, all: ledgers.all, named: ledgers.named! }
}

describe('several ledgers', () => {
  it('take a crash back where it was counted, and answer in order', async () => {
    const { log, all } = bench()
    const held = [heldOf('a', 'far'), heldOf('late'), heldOf('late', 'far')]
    expect(await all.acquit(held)).toEqual([false, true, true])
    expect(log).toEqual(['far acquit a late', 'own acquit late'])
  })

  it('mark a suspect as begun where its claim is kept', async () => {
    const { log, all } = bench()
    expect(await all.begin(heldOf('a', 'far'))).toBe(true)
    expect(await all.begin(heldOf('late'))).toBe(false)
    expect(log).toEqual(['far begin a', 'own begin late'])
  })

  it('are each asked for what they keep, and the answers come in the order of the questions', async () => {
    const { log, all } = bench()
    const keys = [keyOf('a', 'far'), keyOf('b'), keyOf('c', 'far')]
    const claims = await all.claim(keys, 5)
    expect(claims.map((claim) => claim.is === 'fresh' && claim.held.key)).toEqual(keys)
    const ends = [heldOf('b'), heldOf('late', 'far'), heldOf('a', 'far')].map(
      (held): Finish => ({ held, as: 'done' }),
    )
    expect(await all.finish(ends)).toEqual([true, false, true])
    await all.renew([heldOf('a', 'far'), heldOf('b')], 9)
    expect(log).toEqual([
      'far claim a c',
      'own claim b',
      'own finish b:done',
      'far finish late:done a:done',
      'far renew a',
      'own renew b',
    ])
  })

  it('give all claims of a batch or none: with one down the others are free again', async () => {
    const { log, all } = bench(() => true)
    await expect(all.claim([keyOf('a'), keyOf('b', 'far')], 5)).rejects.toThrow('far is down')
    expect(log).toEqual(['own claim a', 'own finish a:free'])
  })

  it('with one down the others are told of an end all the same, and the failure is not hidden', async () => {
    const { log, all } = bench(() => true)
    const ends = [heldOf('b', 'far'), heldOf('a')].map((held): Finish => ({ held, as: 'done' }))
    await expect(all.finish(ends)).rejects.toThrow('far is down')
    await expect(all.renew([heldOf('b', 'far'), heldOf('a')], 5)).rejects.toThrow('far is down')
    expect(log).toEqual(['own finish a:done', 'own renew a'])
  })

  it('beside a transport that keeps claims leave its own to it', async () => {
    const { log, named } = bench()
    await named.renew([heldOf('a'), heldOf('b', 'far')], 5)
    const ends = [heldOf('a'), heldOf('late', 'far'), heldOf('b', 'far')].map(
      (held): Finish => ({ held, as: 'free' }),
    )
    expect(await named.finish(ends)).toEqual([true, false, true])
    expect(log).toEqual(['far renew b', 'far finish late:free b:free'])
    const keys = [keyOf('a'), keyOf('b', 'far')]
    const { ledgerKey } = withOwnClaims({ ledgerKey: () => keys.shift() } as unknown as Subscription)
    const parcel = freshParcel(
      { id: 'x', source: 's', type: 't', extensions: {}, headers: {}, data: null },
      0,
    )
    expect([ledgerKey?.(parcel, false)?.id, ledgerKey?.(parcel, false)]).toEqual(['a', undefined])
  })

  it('that the rules don’t name are not there', () => {
    const own = noting('own', [])
    expect(createLedgers(own, new Map())).toEqual({ all: own, named: undefined })
  })

  it('are settled apart, and idle when all are', async () => {
    const waiting: ((settled: Settled) => void)[] = []
    const made: number[] = []
    const leaving: number[] = []
    const settler = settlerByStore(() => {
      const number = made.push(0) - 1
      return {
        settle: (_, answer) => {
          made[number]!++
          waiting.push(answer)
        },
        leave: () => void leaving.push(number),
        idle: async () => undefined,
      }
    })
    const step = (held?: Held): Step => ({ do: 'ack', delivery: {} as Delivery, ...(held && { held }) })
    for (const held of [heldOf('a'), heldOf('b', 'far'), undefined, heldOf('c', 'far')])
      settler.settle(step(held), () => {})
    expect(made).toEqual([2, 2])
    settler.leave()
    expect(leaving).toEqual([0, 1])
    await settler.idle()
  })
})
