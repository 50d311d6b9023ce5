import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { acks, event, events, ids, ledgerKey, present, subscription } from '../../../test/stores/sqlite.ts'
import type { Inlet, Subscription } from '../../contracts/transport.ts'
import { freshParcel } from '../../core/parcel.ts'
import { type TestTools, testTools } from '../../testing/tools.ts'
import { countsOf, open } from './index.ts'

const folder = mkdtempSync(join(tmpdir(), 'reprieve-sqlite-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const never = new AbortController().signal

let files = 0
const newPath = (): string => join(folder, `${++files}.db`)

interface Desk extends Awaited<ReturnType<typeof open>> {
  readonly tools: TestTools
  readonly inlet: Inlet
  readonly to: Subscription
}

const desk = async (
  over: Partial<Subscription> = {},
  path = newPath(),
  tools = testTools(),
): Promise<Desk> => {
  const opened = await open(`sqlite:${path}`, tools)
  const to = subscription(over)
  // The same object, for countsOf knows it by identity.
  return Object.assign(opened, { tools, to, inlet: await opened.transport.subscribe(to) })
}

describe('commits', () => {
  it('are one for a batch: the one before is settled, the next taken, claims included', async () => {
    const at = await desk({ window: 100, ledgerKey })
    await at.transport.publish(at.to.topic, events(1000))
    const before = countsOf(at)
    let batch = await at.inlet.receive(100, never)
    const seen = [...ids(batch)]
    for (let round = 1; round < 10; round++) {
      const settling = at.inlet.settle(acks(batch))
      ;[batch] = await Promise.all([at.inlet.receive(100, never), settling])
      expect(await settling).toEqual(new Array(100).fill('done'))
      seen.push(...ids(batch))
    }
    await at.inlet.settle(acks(batch))
    expect(seen).toEqual(events(1000).map(({ id }) => id))
    const { commits, rows } = countsOf(at)
    expect(commits - before.commits).toBe(11)
    // Taken and deleted, claimed and finished: four rows for each event, and no more.
    expect(rows - before.rows).toBe(4000)
  })

  it('are shared by all that is asked for at once, whoever asks', async () => {
    const path = newPath()
    const at = await desk({}, path)
    const { store, transport } = await open(`sqlite:${path}`, at.tools)
    const before = countsOf(at).commits
    await Promise.all([
      at.transport.publish(at.to.topic, events(3)),
      transport.publish(at.to.topic, events(3)),
      transport.forward(at.to, [freshParcel(event('f'), at.tools.clock.now())]),
      store!.board.post('breaker/smtp', { is: 'open' }, 1000),
      store!.ledger.claim([ledgerKey(freshParcel(event('x'), 0))], at.tools.clock.now() + 1000),
      at.inlet.receive(10, never),
    ])
    expect(countsOf(at).commits - before).toBe(1)
  })

  it('are not made while nothing happens', async () => {
    const at = await desk()
    const waiting = at.inlet.receive(1, never)
    const before = countsOf(at).commits
    await at.tools.clock.advance(60_000)
    expect(countsOf(at).commits).toBe(before)
    await at.transport.publish(at.to.topic, events(1))
    expect(ids(await waiting)).toEqual(['e-0'])
  })
})

describe('a file opened more than once in a process', () => {
  it('has one writer, by whatever name, and closes with the last', async () => {
    const path = newPath()
    const link = join(folder, 'link.db')
    const one = await desk({}, path)
    symlinkSync(path, link)
    const two = await desk({}, link, one.tools)
    expect(countsOf(two)).toEqual(countsOf(one))
    await one.transport.close()
    await one.store!.close()
    await two.transport.publish(two.to.topic, events(1))
    expect(await present(two.inlet)).toHaveLength(1)
  })

  it('wakes at once whoever waits, though another opened it', async () => {
    const path = newPath()
    const one = await desk({}, path)
    const two = await open(`sqlite:${path}`, one.tools)
    const waiting = one.inlet.receive(1, never)
    await one.tools.clock.advance(10)
    const now = one.tools.clock.now()
    await two.transport.publish(one.to.topic, events(1))
    expect(await waiting).toHaveLength(1)
    expect(one.tools.clock.now()).toBe(now)
  })
})

describe('taking', () => {
  it('looks again within the poll interval for what another process wrote', async () => {
    const path = newPath()
    const one = await desk({}, path)
    const apart = await open(`sqlite:${path}`, { ...one.tools, clock: { ...one.tools.clock } })
    const waiting = one.inlet.receive(1, never)
    await one.tools.clock.advance(10)
    await apart.transport.publish(one.to.topic, events(1))
    await one.tools.clock.advance(one.transport.can.late(0), waiting)
    expect(ids(await waiting)).toEqual(['e-0'])
  })

  it('looks as often as its subscription asks, where that says', async () => {
    const path = newPath()
    const one = await desk({ poll: 3000 }, path)
    const apart = await open(`sqlite:${path}`, { ...one.tools, clock: { ...one.tools.clock } })
    const waiting = one.inlet.receive(1, never)
    await one.tools.clock.advance(10)
    const now = one.tools.clock.now()
    await apart.transport.publish(one.to.topic, events(1))
    await one.tools.clock.runUntil(waiting)
    expect(one.tools.clock.now() - now).toBe(2990)
  })

  it('a crash counts once its lease is over, and the next who takes it learns of it', async () => {
    const path = newPath()
    const at = await desk({ ledgerKey, lease: 1000 }, path)
    await at.transport.publish(at.to.topic, events(1))
    const [first] = await at.inlet.receive(1, never)
    expect(first).toMatchObject({ redelivered: false, claim: { is: 'fresh', crashes: 0 } })
    const apart = { ...at.tools, clock: { ...at.tools.clock } }
    const other = await (await open(`sqlite:${path}`, apart)).transport.subscribe(at.to)
    expect(await present(other)).toEqual([])
    await at.tools.clock.advance(1000)
    const [second] = await present(other)
    expect(second).toMatchObject({ redelivered: true, claim: { is: 'fresh', crashes: 1 } })
    expect(await at.inlet.settle(acks([first!]))).toEqual(['lost'])
    expect(await other.settle(acks([second!]))).toEqual(['done'])
  })

  it('marks as redelivered what an attempt was spent on elsewhere', async () => {
    const at = await desk()
    const fresh = freshParcel(event('forwarded'), at.tools.clock.now())
    await at.transport.forward(at.to, [{ ...fresh, trail: { ...fresh.trail, spent: 1 } }])
    expect(await at.inlet.receive(1, never)).toMatchObject([{ redelivered: true }])
  })

  it('hands over data that is empty as empty, and none as none', async () => {
    const at = await desk()
    const data = new Uint8Array([0, 255, 10])
    await at.transport.publish(at.to.topic, [
      event('none'),
      event('empty', { data: new Uint8Array() }),
      event('bytes', { data }),
    ])
    const got = await at.inlet.receive(10, never)
    expect(got.map(({ parcel }) => parcel.event.data)).toEqual([null, new Uint8Array(), data])
  })
})
