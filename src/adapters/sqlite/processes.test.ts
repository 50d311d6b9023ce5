import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, describe, expect, it } from 'vitest'
import type { Tools } from '../../contracts/tools.ts'
import type { Subscription } from '../../contracts/transport.ts'
import type { Event } from '../../core/event.ts'
import { systemClock } from '../system/clock.ts'
import { systemDice } from '../system/dice.ts'
import { open } from './index.ts'

const folder = mkdtempSync(join(tmpdir(), 'reprieve-processes-'))
const children: ChildProcess[] = []
afterAll(() => {
  for (const child of children) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

const tools: Tools = { clock: systemClock, dice: systemDice(), journal: () => {} }
const never = new AbortController().signal

const to = (over: Partial<Subscription> = {}): Subscription => ({
  service: 'search-svc',
  topic: 'docs',
  consumerGroup: 'search-svc',
  types: ['*'],
  order: 'none',
  lease: 30_000,
  window: 100,
  destinations: [],
  ...over,
})

const event = (id: string, extensions: Event['extensions'] = {}): Event => ({
  id,
  source: '/test',
  type: 'doc.written',
  extensions,
  headers: {},
  data: null,
})

/** A process of its own with `transport` and `inlet` at hand; what it says with `say` comes as lines. */
const child = (path: string, over: Partial<Subscription>, body: string) => {
  const here = (name: string) => JSON.stringify(new URL(name, import.meta.url).href)
  const script = `
    import { open } from ${here('./index.ts')}
    import { systemClock } from ${here('../system/clock.ts')}
    import { systemDice } from ${here('../system/dice.ts')}
    const tools = { clock: systemClock, dice: systemDice(), journal: () => {} }
    const { transport, store } = await open(${JSON.stringify(`sqlite:${path}`)}, tools)
    const keyOf = ({ event, trail }) => ({
      service: 'search-svc', id: event.id, hash: 'h', attempt: trail.spent + 1, generation: 0, ttl: 60000,
    })
    const inlet = await transport.subscribe({ ...${JSON.stringify(to(over))}, ledgerKey: keyOf })
    const never = new AbortController().signal
    const say = (text) => console.log(text)
    ${body}`
  const running = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(running)
  const lines = createInterface({ input: running.stdout })[Symbol.asyncIterator]()
  return {
    kill: () => running.kill('SIGKILL'),
    ended: once(running, 'exit'),
    line: async () => (await lines.next()).value,
  }
}

describe('several processes on one file', () => {
  it('share the work of one subscription, each event to one of them, while others publish', async () => {
    const path = join(folder, 'shared.db')
    const count = 300
    const { transport, store } = await open(`sqlite:${path}?poll=20ms`, tools)
    const inlet = await transport.subscribe(to())
    const worker = () =>
      child(
        path,
        {},
        `say('ready')
        for (;;) {
          const batch = await inlet.receive(7, never)
          for (const { parcel } of batch) say(parcel.event.id)
          await inlet.settle(batch.map((delivery) => ({ do: 'ack', delivery })))
        }`,
      )
    const workers = [worker(), worker()]
    for (const each of workers) expect(await each.line()).toBe('ready')
    const seen: string[] = []
    const reading = workers.map(async (each) => {
      while (seen.length < count) seen.push((await each.line()) as string)
    })
    for (let n = 0; n < count; n += 10) {
      await transport.publish(
        'docs',
        Array.from({ length: 10 }, (_, m) => event(`e-${n + m}`)),
      )
    }
    await Promise.race(reading)
    expect(new Set(seen).size).toBe(count)
    await expect.poll(() => inlet.lag().then(({ waiting }) => waiting)).toBe(0)
    for (const each of workers) each.kill()
    await transport.close()
    await store!.close()
  })

  it('one killed: what it held comes to another when the lease is over, with the crash told', async () => {
    const path = join(folder, 'killed.db')
    const { transport, store } = await open(`sqlite:${path}?poll=20ms`, tools)
    const lease = 1500
    const inlet = await transport.subscribe({
      ...to({ lease }),
      ledgerKey: ({ event: { id }, trail }) => ({
        service: 'search-svc',
        id,
        hash: 'h',
        attempt: trail.spent + 1,
        generation: 0,
        ttl: 60_000,
      }),
    })
    await transport.publish('docs', [event('first'), event('second')])
    const victim = child(
      path,
      { lease },
      `const [first, second] = await inlet.receive(2, never)
      await inlet.settle([{ do: 'ack', delivery: first }])
      say(second.parcel.event.id)
      setInterval(() => {}, 1000)`,
    )
    expect(await victim.line()).toBe('second')
    const killedAt = Date.now()
    victim.kill()
    await victim.ended
    const got = await inlet.receive(10, never)
    expect(got.map(({ parcel }) => parcel.event.id)).toEqual(['second'])
    expect(got[0]).toMatchObject({ redelivered: true, claim: { is: 'fresh', crashes: 1 } })
    expect(Date.now() - killedAt).toBeLessThan(lease + 20_000)
    expect(await inlet.settle([{ do: 'ack', delivery: got[0]! }])).toEqual(['done'])
    await transport.close()
    await store!.close()
  })

  it('keep the order of a key between them', async () => {
    const path = join(folder, 'ordered.db')
    const { transport, store } = await open(`sqlite:${path}?poll=20ms`, tools)
    const inlet = await transport.subscribe(to({ order: 'key' }))
    const numbers = Array.from({ length: 60 }, (_, n) => n)
    await transport.publish(
      'docs',
      numbers.map((n) => event(`${n}`, { orderkey: `k${n % 3}` })),
    )
    await store!.board.post('done', [], 60_000)
    // Each notes on the shared board what it handled, before it settles.
    const noting = `
      const handle = async ({ parcel }) => {
        for (;;) {
          const [{ value, version }] = await store.board.read('done')
          if (await store.board.post('done', [...value, Number(parcel.event.id)], 60000, version)) return
        }
      }`
    const workers = [0, 1].map(() =>
      child(
        path,
        { order: 'key' },
        `${noting}
        for (;;) {
          const batch = await inlet.receive(2, never)
          for (const delivery of batch) {
            await handle(delivery)
            await inlet.settle([{ do: 'ack', delivery }])
          }
        }`,
      ),
    )
    const done = async () => (await store!.board.read('done'))[0]!.value as number[]
    await expect.poll(async () => (await done()).length).toBe(60)
    const order = await done()
    for (const key of [0, 1, 2]) {
      const ofKey = order.filter((n) => n % 3 === key)
      expect(ofKey).toEqual(ofKey.toSorted((a, b) => a - b))
    }
    for (const each of workers) each.kill()
    await inlet.close()
    await transport.close()
    await store!.close()
  })
})
