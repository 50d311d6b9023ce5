import { describe, expect, it } from 'vitest'
import { ledgerOf, openRows } from '../adapters/memory/ledger.ts'
import type { Ledger } from '../contracts/ledger.ts'
import type { Delivery, Inlet } from '../contracts/transport.ts'
import type { LedgerKey } from '../core/ledger.ts'
import { freshParcel } from '../core/parcel.ts'
import { createFaults, faultyLedger } from '../testing/faults.ts'
import { testTools } from '../testing/tools.ts'
import { createBag } from './bag.ts'
import { createKeeping, type KeptDoor } from './keeping.ts'

const LEASE = 3000
const EVENT = { source: 's', type: 't', extensions: {}, headers: {}, data: null }

const keyOf = (id: string): LedgerKey => ({
  ...{ service: 'mail', id, hash: 'h', attempt: 1, generation: 0, ttl: 60_000 },
})

const world = () => {
  const tools = testTools()
  const { clock } = tools
  const faults = createFaults()
  const ledger: Ledger = ledgerOf(openRows(), clock.now)
  const keeping = createKeeping('mail', faultyLedger(ledger, faults), tools)
  const door: KeptDoor = {
    subscription: { lease: LEASE },
    inlet: { extend: async () => {} } as unknown as Inlet,
    ledger,
    out: createBag(),
    kept: clock.now(),
  }
  const claim = async (id: string): Promise<Delivery> => {
    const [claim] = await ledger.claim([keyOf(id)], clock.now() + LEASE)
    return { parcel: freshParcel({ ...EVENT, id }, clock.now()), redelivered: true, claim: claim! }
  }
  return { ...tools, clock, faults, ledger, keeping, door, claim }
}

const crashesOf = ({ claim }: Delivery): unknown => (claim?.is === 'fresh' ? claim.crashes : claim?.is)
const heldOf = ({ claim }: Delivery) => (claim?.is === 'fresh' ? claim.held : undefined)!

describe('what is out', () => {
  it('is kept while the process goes on', async () => {
    const { clock, keeping, door, claim } = world()
    door.out.add(await claim('a'))
    const closed = new AbortController()
    const kept = keeping.keep(door, closed.signal)
    await clock.advance(10 * LEASE)
    expect(crashesOf(await claim('a'))).toBe('busy')
    closed.abort()
    await kept
  })

  it('came back to the process that stood still: what is counted against it there is its own doing', async () => {
    const { clock, keeping, door, claim, ledger } = world()
    door.out.add(await claim('a'))
    expect(await keeping.doubted(door, [await claim('b')])).toEqual([])
    await clock.advance(LEASE)
    const again = await claim('a')
    const fresh = await claim('c')
    expect(crashesOf(again)).toBe(1)
    expect(await keeping.doubted(door, [again, fresh])).toEqual([again])
    await ledger.finish([{ held: heldOf(again), as: 'free' }])
    expect(crashesOf(await claim('a'))).toBe(0)
    const { claim: later } = await claim('d')
    expect(await keeping.doubted(door, [{ ...again, claim: later! }])).toEqual([])
  })

  it('was taken by others while the process stood still: it says so before it takes anything', async () => {
    const { clock, keeping, door, claim, ledger } = world()
    for (const id of ['a', 'b']) door.out.add(await claim(id))
    expect(keeping.catchUp(door)).toBeUndefined()
    await clock.advance(LEASE)
    const others = await claim('a')
    expect(crashesOf(others)).toBe(1)
    await ledger.begin(heldOf(others))
    await keeping.catchUp(door)
    expect(keeping.catchUp(door)).toBeUndefined()
    expect(crashesOf(await claim('b'))).toBe('busy')
    await clock.advance(LEASE)
    // the other died: the first crash that counts
    expect(crashesOf(await claim('a'))).toBe(1)
  })

  it('is acquitted once by each that lost it', async () => {
    const { clock, keeping, claim, ledger } = world()
    const first = await claim('a')
    await clock.advance(LEASE)
    for (const crashes of [1, 2]) {
      const dying = await claim('a')
      expect(crashesOf(dying)).toBe(crashes)
      await ledger.begin(heldOf(dying))
      await clock.advance(LEASE)
    }
    await keeping.lost(first)
    await keeping.lost(first)
    expect(crashesOf(await claim('a'))).toBe(2)
  })

  it('counts nothing for a suspect that waited, so there is nothing to take back', async () => {
    const { clock, keeping, claim } = world()
    await claim('a')
    await clock.advance(LEASE)
    const suspect = await claim('a')
    await clock.advance(LEASE)
    expect(crashesOf(await claim('a'))).toBe(1)
    await keeping.lost(suspect)
    await clock.advance(LEASE)
    expect(crashesOf(await claim('a'))).toBe(1)
  })

  it('a suspect that was begun here is acquitted', async () => {
    const { clock, keeping, claim } = world()
    await claim('a')
    await clock.advance(LEASE)
    const suspect = await claim('a')
    expect(await keeping.begin(heldOf(suspect))).toBe(true)
    await clock.advance(LEASE)
    expect(crashesOf(await claim('a'))).toBe(2)
    await keeping.lost(suspect)
    await clock.advance(LEASE)
    expect(crashesOf(await claim('a'))).toBe(1)
  })

  it('a ledger that is down is told of, and asked again at the next chance', async () => {
    const { clock, keeping, faults, claim, ledger, facts } = world()
    const first = await claim('a')
    await clock.advance(LEASE)
    await ledger.begin(heldOf(await claim('a')))
    faults.plan('acquit', 'fails')
    await keeping.lost(first)
    expect(facts).toMatchObject([{ is: 'trouble', where: 'the ledger' }])
    await keeping.lost(first)
    await clock.advance(LEASE)
    expect(crashesOf(await claim('a'))).toBe(1)
  })
})
