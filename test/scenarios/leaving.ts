import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { reprieve, Transient } from '../../src/index.ts'
import type { FaultProxy } from '../faults/proxy.ts'

export const FAULTS = [
  ['half-open', 'freeze'],
  ['heard by the broker and deaf itself', 'deafen'],
  ['refused', 'refuse'],
] as const
export type Fault = (typeof FAULTS)[number][1]

interface Broker {
  readonly wire: FaultProxy
  readonly through: string
  /** Where the next one finds it. */
  readonly mended: string
}

/**
 * An app with events at work, some of which fail, leaves while its broker does not answer; another one then finds all that
 * is left. Answers with the names of its service and destinations, to be cleared away.
 */
export const leavesWhile = async (fault: Fault, { wire, through, mended }: Broker) => {
  const folder = mkdtempSync(join(tmpdir(), 'reprieve-drain-'))
  const store = `sqlite:${join(folder, 'store.db')}`
  const name = `drain-${process.pid}-${Date.now()}`
  const effects: string[] = []
  const failing = new Set<string>()
  const start = async (transport: string) => {
    const app = await reprieve({ transport, store, journal: () => {} })
    app.service(name).on(name, async ({ id, data }: { id: string; data: { n: number } }) => {
      await sleep(100 + 20 * data.n) // one after the other: some end when others wait for the broker already
      if (data.n % 2 === 0 && !failing.has(id)) {
        failing.add(id)
        throw new Transient('not now')
      }
      effects.push(id)
    })
    await app.start()
    return app
  }
  const app = await start(through)
  const ids = await Promise.all(Array.from({ length: 10 }, (_each, n) => app.publish(name, { n })))
  await expect.poll(() => effects.length + failing.size).toBeGreaterThan(0)
  wire[fault]()
  if (fault === 'refuse') wire.cut()
  const began = Date.now()
  await app.close(1000)
  const took = Date.now() - began
  console.log(`closed after ${took} ms while ${fault}`)
  expect(took).toBeLessThan(30_000)
  await expect.poll(() => wire.open).toBe(0)
  wire.admit()

  const again = await start(mended)
  await expect.poll(() => new Set(effects).size).toBe(ids.length)
  // a copy that the broker took without our hearing of it, and its original: where the one comes while the other
  // runs, both do. What never failed has no copy
  const doubled = effects.filter((id, at) => effects.indexOf(id) !== at)
  expect(doubled.filter((id) => !failing.has(id))).toEqual([])
  expect(new Set(doubled).size).toBe(doubled.length)
  const destinations = again.destinations().map((each) => each.name)
  await again.close()
  rmSync(folder, { recursive: true, force: true })
  return { name, destinations }
}
