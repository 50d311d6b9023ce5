import { expect, it, onTestFinished } from 'vitest'
import { describeWith } from '../../../test/services/urls.ts'
import { deskAt } from '../../../test/stores/postgres.ts'
import type { Subscription } from '../../contracts/transport.ts'
import type { Event } from '../../core/event.ts'
import { sampleLetters } from '../../testing/letters.ts'

const TO: Subscription = {
  ...{ service: 'shop', topic: 'made', consumerGroup: 'shop', types: ['*'], order: 'none' },
  ...{ lease: 60_000, window: 20, poll: 20, destinations: [] },
}
const made = (id: string, orderkey?: string): Event => ({
  ...{ id, source: 's', type: 'made', headers: {}, data: null },
  extensions: orderkey === undefined ? {} : { orderkey },
})
const soon = () => AbortSignal.timeout(2000)

describeWith('postgres', 'events in PostgreSQL', (url) => {
  const desk = async () => {
    const made = await deskAt(url)
    onTestFinished(() => made.close())
    return made
  }

  it('have tables only where events are carried; who keeps a ledger closes with it', async () => {
    const { open, ask, schema } = await desk()
    const store = await open()
    await store.ledger.claim([{ service: 's', id: 'i', hash: 'h', attempt: 1, generation: 0, ttl: 1 }], 1)
    const tables = `SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = '${schema}' AND tablename = 'parcel'`
    expect(await ask(tables)).toEqual([])
    const left = `SELECT count(*)::integer AS n FROM pg_stat_activity WHERE query LIKE '%${schema}.%' AND pid <> pg_backend_pid()`
    await store.close()
    await expect.poll(() => ask(left)).toEqual([{ n: 0 }])
    await expect(store.companion!.publish('made', [made('a')])).rejects.toMatchObject({ code: 'closed' })
  })

  it('that are out while the rules put them in order let their followers go all the same', async () => {
    const { companion } = await (await desk()).open()
    const before = await companion!.subscribe(TO)
    await companion!.publish('made', [made('1', 'k'), made('2', 'k'), made('3', 'k')])
    const [first] = await before.receive(1, soon())
    const after = await companion!.subscribe({ ...TO, order: 'key' })
    await expect(after.receive(1, AbortSignal.timeout(100))).resolves.toEqual([])
    expect(await before.settle([{ do: 'ack', delivery: first! }])).toEqual(['done'])
    const [second, ...none] = await after.receive(9, soon())
    expect([second?.parcel.event.id, none]).toEqual(['2', []])
    // and back again
    const plain = await companion!.subscribe(TO)
    expect((await plain.receive(1, soon()))[0]?.parcel.event.id).toBe('3')
  })

  it('become urgent, and not so any more, when the rules of what waits change', async () => {
    const { companion } = await (await desk()).open()
    const urgency = { types: ['made'], others: [] }
    await companion!.subscribe({ ...TO, types: ['*'] })
    await companion!.publish('made', [{ ...made('1'), type: 'other' }, made('2')])
    const urged = await companion!.subscribe({ ...TO, urgency })
    const [two] = await urged.receive(1, soon())
    expect(two?.parcel.event.id).toBe('2')
    await urged.settle([{ do: 'give back', delivery: two! }])
    const calm = await companion!.subscribe(TO)
    expect((await calm.receive(1, soon()))[0]?.parcel.event.id).toBe('1')
  })

  it('are settled with no effect of a handler: that is refused, and changes nothing', async () => {
    const { companion } = await (await desk()).open()
    const inlet = await companion!.subscribe(TO)
    await companion!.publish('made', [made('1')])
    const [delivery] = await inlet.receive(1, soon())
    const key = { service: 's', id: '1', hash: 'h', attempt: 1, generation: 0, ttl: 1 }
    const [refused] = await inlet.settle([{ do: 'ack', delivery: delivery!, effect: { key, run: () => [] } }])
    expect(refused).toMatchObject({ code: 'bad_usage', fix: expect.stringContaining('postgresTx') })
    expect(await inlet.settle([{ do: 'ack', delivery: delivery! }])).toEqual(['done'])
  })

  it('reach who subscribed after their publisher last looked, and a destination drops what lay too long', async () => {
    const { open, clock } = await desk()
    const [one, other] = await Promise.all([open(), open()])
    await one.companion!.subscribe(TO)
    await one.companion!.publish('made', [made('1')])
    const late = await other.companion!.subscribe({
      ...{ ...TO, service: 'late' },
      destinations: [{ name: 'dead', expire: 1000 }],
    })
    await one.companion!.publish('made', [made('2')])
    const [delivery] = await late.receive(9, soon())
    expect(delivery?.parcel.event.id).toBe('2')
    const letters = await one.companion!.collect({ name: 'dead', expire: 1000 })
    const [letter] = sampleLetters(1, clock.now())
    await late.settle([{ do: 'bury', delivery: delivery!, to: 'dead', letter: letter! }])
    expect(await letters.lag()).toMatchObject({ waiting: 1 })
    clock.wait(1001)
    expect(await letters.lag()).toEqual({ waiting: 0 })
    expect(await letters.receive(1, AbortSignal.timeout(100))).toEqual([])
  })
})
