import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Store } from '../../src/contracts/store.ts'
import type { Claim, Held, LedgerKey } from '../../src/core/ledger.ts'
import { openProxy } from '../faults/proxy.ts'
import type { TurnedClock } from './clock.ts'
import { describeOwn, type OwnServer } from './own-server.ts'

interface OutageDesk {
  readonly clock: TurnedClock
  open(more?: Readonly<Record<string, string>>, by?: string): Promise<Store>
  close(): Promise<void>
}

interface Outage {
  readonly service: 'postgres' | 'redis'
  readonly called: string
  readonly own: () => Promise<OwnServer>
  readonly deskAt: (url: string) => Promise<OutageDesk>
}

/** A ledger and a board on a server of their own that is killed, or answers too late: the same for every store. */
export const outageSuite = ({ service, called, own, deskAt }: Outage): void =>
  describeOwn(service, `${called} killed and started again`, () => {
    let server: OwnServer
    let desk: OutageDesk
    beforeAll(async () => {
      server = await own()
      desk = await deskAt(server.url)
    })
    afterAll(async () => {
      await desk?.close().finally(() => server.close())
    })

    const keyOf = (id: string): LedgerKey => ({
      service: 's',
      id,
      hash: 'h',
      attempt: 1,
      generation: 0,
      ttl: 60_000,
    })
    const pairOf = (n: number) => [keyOf(`mid-${n}-a`), keyOf(`mid-${n}-b`)]
    const later = () => desk.clock.now() + 30_000
    const heldBy = (claim: Claim | undefined): Held => {
      expect(claim?.is).toBe('fresh')
      return (claim as Extract<Claim, { is: 'fresh' }>).held
    }

    it('keeps what was answered, refuses while it is down, and is found again by itself', async () => {
      const { ledger, board } = await desk.open({ timeout: '2000' })
      for (let round = 0; round < 3; round++) {
        const [done, open] = await ledger.claim([keyOf(`done-${round}`), keyOf(`open-${round}`)], later())
        expect(await ledger.finish([{ held: heldBy(done), as: 'done' }])).toEqual([true])
        expect(await board.post('round', round, 60_000)).toBe(true)

        await server.kill()
        await expect(ledger.claim([keyOf('other')], later())).rejects.toMatchObject({ code: 'unavailable' })
        await expect(ledger.finish([{ held: heldBy(open), as: 'done' }])).rejects.toMatchObject({
          code: 'unavailable',
        })
        await expect(board.read('')).rejects.toMatchObject({ code: 'unavailable' })
        await server.start()

        const again = await ledger.claim([keyOf(`done-${round}`), keyOf(`open-${round}`)], later())
        expect(again.map(({ is }) => is)).toEqual(['done', 'busy'])
        expect(await ledger.finish([{ held: heldBy(open), as: 'done' }])).toEqual([true])
        expect(await board.read('round')).toMatchObject([{ value: round }])
      }
    })

    it('killed in the midst of many claims, keeps each answer that it gave', async () => {
      const { ledger } = await desk.open({ timeout: '2000' })
      const told = new Map<string, Held>()
      let asked = 0
      const worker = async (): Promise<void> => {
        while (asked < 1000) {
          const n = asked++
          const claims = await ledger.claim(pairOf(n), later())
          for (const claim of claims) told.set(heldBy(claim).key.id, heldBy(claim))
          if (told.size === 100) void server.kill()
        }
      }
      const ended = await Promise.allSettled(Array.from({ length: 20 }, worker))
      expect(ended.every(({ status }) => status === 'rejected')).toBe(true)
      await server.kill()
      await server.start()
      const held = [...told.values()]
      const claims = await ledger.claim(
        held.map(({ key }) => key),
        later(),
      )
      expect(new Set(claims.map(({ is }) => is))).toEqual(new Set(['busy']))
      expect(await ledger.finish(held.map((each) => ({ held: each, as: 'done' })))).toEqual(
        held.map(() => true),
      )
      // both keys of a claim that was not answered are there, or neither is
      for (let n = 0; n < asked; n++) {
        const pair = await ledger.claim(pairOf(n), later())
        expect(new Set(pair.map(({ is }) => is)).size).toBe(1)
      }
    })

    it('that answers no more is waited for no longer than the timeout, and found again when it does', async () => {
      const wire = await openProxy(server.url)
      const { ledger } = await desk.open({ timeout: '300' }, wire.url)
      const [claim] = await ledger.claim([keyOf('still')], later())
      wire.freeze()
      const began = performance.now()
      await expect(ledger.claim([keyOf('more')], later())).rejects.toThrow(/no answer within 300 ms/)
      expect(performance.now() - began).toBeLessThan(15_000)
      wire.admit()
      expect(await ledger.finish([{ held: heldBy(claim), as: 'done' }])).toEqual([true])
      await wire.close()
    })

    it('that answers too late has made the claim for whoever asked, and for nobody else', async () => {
      const wire = await openProxy(server.url)
      const { ledger } = await desk.open({ timeout: '300' }, wire.url)
      const other = await desk.open()
      const [held] = await ledger.claim([keyOf('known')], later())
      await ledger.finish([{ held: heldBy(held), as: 'free' }])
      const keys = [keyOf('known'), keyOf('new')]
      wire.deafen()
      await expect(ledger.claim(keys.slice(1), later())).rejects.toMatchObject({ code: 'unavailable' })
      wire.admit()
      expect((await other.ledger.claim(keys, later())).map(({ is }) => is)).toEqual(['fresh', 'busy'])
      const again = await ledger.claim([...keys, keyOf('new')], later())
      expect(again).toMatchObject([
        { is: 'busy' },
        { is: 'fresh', crashes: 0, held: { token: 1 } },
        { is: 'busy' },
      ])
      expect(await ledger.finish([{ held: heldBy(again[1]), as: 'done' }])).toEqual([true])
      await wire.close()
    })

    it('with a wrong password says so, and never the password', async () => {
      const at = new URL(server.url)
      at.password = 'hidden-word'
      const refused = (await deskAt(at.href)).open()
      await expect(refused).rejects.toMatchObject({
        code: 'unavailable',
        message: expect.stringContaining('was refused'),
      })
      const error = (await refused.catch((thrown: unknown) => thrown)) as Error
      expect(
        `${error.message} ${error.stack} ${JSON.stringify(error)} ${JSON.stringify(error.cause)}`,
      ).not.toContain('hidden-word')
    })

    it('is closed when it is closed', async () => {
      const { ledger, close } = await desk.open()
      await close()
      await expect(ledger.claim([keyOf('late')], later())).rejects.toMatchObject({ code: 'closed' })
    })
  })
