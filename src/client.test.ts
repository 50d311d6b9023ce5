import { describe, expect, it } from 'vitest'
import { client } from './client.ts'
import type { Transport } from './contracts/transport.ts'
import { createBreaker } from './retry.ts'
import { createFaults, faultyTransport, openMemory, testTools } from './testing/index.ts'

const TOPIC = 'order.placed'

/** A client on memory in virtual time, with faults in its way. */
const desk = async (
  options: Partial<Parameters<typeof client>[1]> = {},
  change: (transport: Transport) => Transport = (transport) => transport,
) => {
  const tools = testTools()
  const faults = createFaults()
  const { transport } = await openMemory('memory:', tools)
  const faulty = change(faultyTransport(transport, faults))
  const all = { topic: TOPIC, service: 'orders', ...tools, ...options }
  const queue = await client(faulty, all)
  const run = <T>(promise: Promise<T>) => tools.clock.runUntil(promise)
  return { ...tools, faults, queue, transport: faulty, run, another: () => client(faulty, all) }
}

describe('sending', () => {
  it('of what is no message is refused with what to write', async () => {
    const { queue, run } = await desk()
    await expect(queue.send(null as never)).rejects.toThrow(/found null for the message.*\n.*data/)
    await expect(queue.send([5] as never)).rejects.toThrow(/found 5 for the message/)
    await run(queue.close())
  })

  it('is tried again by the policy, and is one event however often it was tried', async () => {
    const { queue, faults, run, clock } = await desk({ policy: 'standard' })
    const began = clock.now()
    faults.plan('publish', 'answer lost', 'fails')
    const id = await run(queue.send({ data: 1 }))
    const waited = clock.now() - began
    expect(waited).toBeGreaterThanOrEqual(500 + 1000)
    expect(waited).toBeLessThanOrEqual(1000 + 2000)
    const got = await run(queue.receive(10))
    expect(got.map(({ event }) => event.id)).toEqual([id, id])
    await run(queue.close())
  })

  it('ends when the policy grants no more, with the last error as the cause', async () => {
    const { queue, faults, run } = await desk({ policy: { initial: 10, attempts: 3 } })
    faults.down('publish')
    await expect(run(queue.send({ data: 1 }))).rejects.toMatchObject({
      name: 'RetryFailed',
      outcome: 'attempts exceeded',
      attempts: 3,
      cause: { code: 'unavailable' },
    })
    expect(faults.count('publish')).toBe(3)
    await run(queue.close())
  })

  it('asks the breaker first', async () => {
    const breaker = createBreaker({ failures: 2, open: '30s' })
    const { queue, faults, run } = await desk({ policy: { initial: 10, attempts: 5 }, breaker })
    faults.down('publish')
    await expect(run(queue.send({ data: 1 }))).rejects.toMatchObject({ outcome: 'breaker open', attempts: 2 })
    expect(faults.count('publish')).toBe(2)
    await run(queue.close())
  })

  it('gives up at once where trying again is in vain', async () => {
    const { queue, run } = await desk({ types: ['order.*'], policy: 'standard' })
    await expect(run(queue.send({ type: 'mail.wanted' }))).rejects.toMatchObject({
      outcome: 'permanent',
      attempts: 1,
      cause: { code: 'unheard' },
    })
    await expect(queue.send({ type: 'order.*' })).rejects.toMatchObject({ code: 'bad_event' })
    await run(queue.close())
    await expect(queue.send({ data: 1 })).rejects.toMatchObject({ code: 'closed' })
  })

  it('ends an attempt that takes too long', async () => {
    let calls = 0
    const { queue, run } = await desk(
      { policy: { initial: 10, attempts: 2 }, timeout: '1s' },
      (transport) => ({
        ...transport,
        publish: (topic, events) =>
          calls++ === 0 ? new Promise(() => {}) : transport.publish(topic, events),
      }),
    )
    await run(queue.send({ data: 1 }))
    expect(calls).toBe(2)
    await run(queue.close())
  })

  it('of nothing is fine', async () => {
    const { queue, run } = await desk()
    expect(await queue.send([])).toEqual([])
    await run(queue.close())
  })
})

describe('receiving', () => {
  it('is tried again while the broker is away', async () => {
    const { queue, faults, run } = await desk({ policy: { initial: 100, attempts: 4 } })
    await queue.send({ data: 1 })
    faults.plan('receive', 'fails', 'fails')
    expect(await run(queue.receive())).toHaveLength(1)
    faults.down('receive')
    await expect(run(queue.receive())).rejects.toMatchObject({ outcome: 'attempts exceeded', attempts: 4 })
    await run(queue.close())
  })

  it('waits as long as it is told, and no longer than its signal', async () => {
    const { queue, run, clock } = await desk()
    const began = clock.now()
    expect(await run(queue.receive(1, { wait: '3s' }))).toEqual([])
    expect(clock.now() - began).toBe(3000)
    const stop = new AbortController()
    const receiving = queue.receive(1, { signal: stop.signal })
    await clock.advance(1000)
    stop.abort()
    expect(await receiving).toEqual([])
    expect(clock.now() - began).toBe(4000)
    expect(await queue.receive(1, { signal: stop.signal })).toEqual([])
    const last = queue.receive()
    await run(queue.close())
    expect(await last).toEqual([])
    await expect(queue.receive()).rejects.toMatchObject({ code: 'closed' })
  })

  it('keeps what is held, though its lease is shorter', async () => {
    const { queue, another, run, clock } = await desk({ lease: '3s', hold: '10m' })
    await queue.send({ data: 1 })
    const [message] = await run(queue.receive())
    const other = await another()
    expect(await run(other.receive(1, { wait: '5m' }))).toEqual([])
    expect(message!.signal.aborted).toBe(false)
    expect(await run(queue.acknowledge(message!.receipt))).toBe('done')
    await run(Promise.all([queue.close(), other.close()]))
    expect(clock.sleepers).toBe(0)
  })

  it('loses what it could not keep, and says so', async () => {
    const { queue, another, faults, facts, run } = await desk({ lease: '3s', hold: '10m' })
    await queue.send({ data: 1 })
    const [message] = await run(queue.receive())
    faults.down('extend')
    const other = await another()
    expect(await run(other.receive(1, { wait: '1m' }))).toMatchObject([{ redelivered: true, attempt: 1 }])
    expect(await run(queue.acknowledge(message!.receipt))).toBe('lost')
    expect(facts.some(({ is }) => is === 'trouble')).toBe(true)
    await run(Promise.all([queue.close(), other.close()]))
  })

  it('needs a service and a number', async () => {
    const { queue } = await desk()
    await expect(queue.receive(0)).rejects.toMatchObject({ code: 'bad_usage' })
    const sender = await client('memory:', { topic: TOPIC })
    await expect(sender.receive()).rejects.toMatchObject({ code: 'bad_usage' })
    await expect(sender.acknowledge('any')).rejects.toMatchObject({ code: 'bad_usage' })
    await sender.close()
  })
})

describe('settling', () => {
  it('is tried again, and then handed back rather than called done', async () => {
    const { queue, faults, run } = await desk()
    await queue.send({ data: 1 })
    const [message] = await run(queue.receive())
    faults.plan('settle', 'fails', 'fails')
    expect(await run(queue.acknowledge(message!.receipt))).toBe('done')
    await queue.send({ data: 2 })
    const [second] = await run(queue.receive())
    faults.plan('settle', 'fails', 'fails', 'fails', 'fails', 'fails')
    await expect(run(queue.acknowledge(second!.receipt))).rejects.toMatchObject({ code: 'unavailable' })
    expect(await run(queue.receive())).toMatchObject([{ event: { data: 2 }, redelivered: true }])
    await run(queue.close())
  })

  it('goes by the first word', async () => {
    const { queue, run } = await desk()
    await queue.send({ data: 1 })
    const [message] = await run(queue.receive())
    const { receipt } = message!
    const said = [queue.acknowledge(receipt), queue.giveBack(receipt), queue.reject(receipt)]
    expect(await run(Promise.all(said))).toEqual(['done', 'lost', { is: 'lost' }])
    expect(await run(queue.receive(1, { wait: 100 }))).toEqual([])
    await run(queue.close())
  })

  it('waits as long as the policy says, also where the transport can not do so in one go', async () => {
    const { queue, run, clock } = await desk(
      { policy: { backoff: 'fixed', delay: '2h', jitter: 'none' } },
      (own) => ({
        ...own,
        can: { ...own.can, later: 3_600_000 },
      }),
    )
    await queue.send({ data: 1 })
    const [message] = await run(queue.receive())
    expect(await run(queue.reject(message!.receipt))).toEqual({ is: 'later', due: clock.now() + 7_200_000 })
    await run(queue.close())
  })

  it('leaves facts for whoever reads the journal', async () => {
    const { queue, facts, run } = await desk({ policy: { initial: 10, attempts: 2 } })
    await queue.send({ data: 1, correlationId: 'c-1' })
    for (let i = 0; i < 2; i++) {
      const [message] = await run(queue.receive())
      await run(queue.reject(message!.receipt))
    }
    const told = facts.filter((fact) => 'event' in fact)
    expect(told.map(({ is }) => is)).toEqual(['failed', 'retry', 'failed', 'dead'])
    expect(told[0]).toMatchObject({ service: 'orders', topic: TOPIC, correlation: 'c-1' })
    await run(queue.close())
  })
})
