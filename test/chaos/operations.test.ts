import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../src/adapters/system/clock.ts'
import { type Fact, Permanent, type Reprieve, reprieve } from '../../src/index.ts'
import { folderWith, startNode } from '../scenarios/child.ts'
import { describeWith } from '../services/urls.ts'
import { ownSchema } from '../stores/postgres.ts'

const WORKER = fileURLToPath(new URL('./operation-worker.ts', import.meta.url))
const COUNT = 4
/** More steps than a worker has. */
const ALL = 1000

/** Past the lease of who died: nobody need wait for it in a test. */
const later = { ...systemClock, now: () => systemClock.now() + 20_000 }

interface Place {
  readonly transport: string
  readonly store: string
  readonly service: string
  readonly type: string
}

const openedAt = async (
  place: Place,
  handle: (id: string) => void,
  options: object = {},
): Promise<Reprieve> => {
  const app = await reprieve({ transport: place.transport, store: place.store, as: 'parent', ...options })
  app.service(place.service).on(place.type, (event) => handle(event.id))
  await app.start()
  return app
}

/** Some letters of a service, and nobody at them. */
const withLetters = async (place: Place): Promise<void> => {
  const app = await openedAt(place, () => {
    throw new Permanent('no')
  })
  for (let n = 0; n < COUNT; n++) await app.publish(place.type, { n }, { id: `${place.service}-${n}` })
  await expect.poll(() => app.office.count({ service: place.service })).toBe(COUNT)
  await app.close()
}

const killedAfter = async (place: Place, kind: string, nth: number) => {
  const { transport, store, service } = place
  const child = startNode([WORKER, transport, store, service, kind, String(nth)], { cwd: folderWith() })
  const { code, stdout, stderr } = await child.ended
  const steps = stdout.trim().split('\n')
  if (nth !== ALL) expect(code, `${stdout}${stderr}`).toBeNull()
  return steps
}

/** Another process goes on where it was, and every letter is accounted for. */
const goesOn = async (place: Place, kind: string): Promise<void> => {
  const { service } = place
  const handled: string[] = []
  const facts: Fact[] = []
  const app = await openedAt(place, (id) => void handled.push(id), {
    clock: later,
    journal: (fact: Fact) => void facts.push(fact),
  })
  const { operations } = app.office
  try {
    const [first] = await operations.list()
    // cut short before its set was known: nothing was promised, and it is begun again
    if (!first || first.operation.state === 'cancelled' || first.operation.state === 'freezing') {
      expect(await app.office.count({ service, states: ['open'] })).toBe(COUNT)
      const again = await operations.plan(
        { service },
        { kind: kind as 'replay', batch: 2 },
        { reason: 'again' },
      )
      await operations.start(again.operation.id)
    } else if (first.operation.state === 'frozen') await operations.resume(first.operation.id)
    const over = async () => (await operations.list()).map(({ operation }) => operation.state)[0]
    await expect.poll(over).toBe('done')
    const [{ operation, counts } = { operation: undefined, counts: undefined }] = await operations.list()
    const end = kind === 'purge' ? 'purged' : 'resolved'
    expect(counts).toMatchObject({ [end]: COUNT, waiting: 0, sending: 0, sent: 0, failed: 0 })
    const items = await operations.items(operation!.id)
    expect(new Set(items.map(({ letter }) => letter)).size).toBe(COUNT)
    expect(items.every(({ state }) => state === end)).toBe(true)
    const letters = await app.office.list({ service }, 100)
    if (kind === 'purge') expect(letters).toEqual([])
    else expect(letters.map(({ state }) => state)).toEqual(Array(COUNT).fill('resolved'))
    const ids = Array.from({ length: COUNT }, (_, n) => `${service}-${n}`)
    expect([...handled].sort()).toEqual(kind === 'purge' ? [] : ids)
    // as often as letters arrived, so often the audit says that they were sent
    const entries = await app.audit.list({}, 1000)
    const told = entries.filter(({ act }) => act === 'replay' || act === 'replay again' || act === 'purge')
    const arrived = facts.filter(({ is }) => is === 'done' || is === 'duplicate' || is === 'stale').length
    expect(told.reduce((sum, { count }) => sum + count, 0)).toBeGreaterThanOrEqual(
      kind === 'purge' ? COUNT : Math.max(arrived, COUNT),
    )
    expect((await app.audit.verify()).broken).toBeUndefined()
  } finally {
    await app.close()
  }
}

const placeOn = (transport: (folder: string) => string): Place => {
  const folder = folderWith()
  const name = `ops-${randomUUID().slice(0, 8)}`
  const at = transport(folder)
  const store = at.startsWith('sqlite:') ? at : `sqlite:${join(folder, 'store.db')}`
  return { transport: at, store, service: name, type: `${name}.made` }
}

const sqlite = (folder: string) => `sqlite:${join(folder, 'app.db')}`

describe('an operation whose process is killed by SIGKILL after any durable step', () => {
  it.each(['replay', 'purge'])('goes on in another, on SQLite: %s', { timeout: 600_000 }, async (kind) => {
    const whole = placeOn(sqlite)
    await withLetters(whole)
    const steps = await killedAfter(whole, kind, ALL)
    expect(steps.at(-1)).toBe('through')
    if (kind === 'replay') expect(steps.filter((step) => step.endsWith('forward'))).toHaveLength(2)
    const dies = async (nth: number) => {
      const place = placeOn(sqlite)
      await withLetters(place)
      const seen = await killedAfter(place, kind, nth)
      expect(seen).toEqual(steps.slice(0, nth))
      await goesOn(place, kind)
    }
    const all = steps.slice(0, -1).map((_, n) => n + 1)
    // each has a file of its own, and waits most of the time
    for (let n = 0; n < all.length; n += 3) await Promise.all(all.slice(n, n + 3).map(dies))
  })
})

describeWith('postgres', 'an operation kept in PostgreSQL whose process is killed', (url) => {
  it.each(['replay', 'purge'])('goes on in another: %s', { timeout: 600_000 }, async (kind) => {
    const place = (): Place => ({ ...placeOn(sqlite), store: ownSchema(url) })
    const whole = place()
    await withLetters(whole)
    const steps = await killedAfter(whole, kind, ALL)
    expect(steps.at(-1)).toBe('through')
    // at its begin, in its midst, at its end
    for (const nth of [1, 2, Math.ceil(steps.length / 2), steps.length - 2, steps.length - 1]) {
      const one = place()
      await withLetters(one)
      expect(await killedAfter(one, kind, nth)).toEqual(steps.slice(0, nth))
      await goesOn(one, kind)
    }
  })
})
