import { expect, it } from 'vitest'
import { kafkaBench } from '../../../test/kafka/bench.ts'
import { describeForeign, foreignPut, foreignRead } from '../../../test/kafka/foreign.ts'
import { ackAll, makeEvent, makeSubscription, settleAll, take, takeOne } from '../../testing/trials/kit.ts'
import { burial, failedOnce } from '../../testing/trials/samples.ts'

describeForeign("kafka's own Java client beside us", (brokers) => {
  const { world, openOne } = kafkaBench(brokers)

  it('what it packs in any way is read; tombstones, absent keys and binary headers arrive whole', {
    timeout: 180_000,
  }, async () => {
    const codecs = ['none', 'gzip', 'snappy', 'lz4', 'zstd']
    const transport = await openOne()
    const to = makeSubscription(world, { window: 200 })
    const inlet = await transport.subscribe(to)
    await foreignPut(brokers, to.topic, codecs)
    const got = await take(world, inlet, 20 * codecs.length + 2)
    const texts = got.map(({ parcel }) => parcel.event.data && Buffer.from(parcel.event.data).toString())
    expect(texts.slice(0, -2)).toEqual(
      codecs.flatMap((codec) => Array.from({ length: 20 }, (_, n) => `${codec}${n} `.repeat(200))),
    )
    const [tombstone, noKey] = got.slice(-2)
    expect(tombstone!.parcel.event.data).toBeNull()
    expect(tombstone!.parcel.event.headers).toEqual({
      trace: 'data:application/octet-stream;base64,/wCABw==',
      nothing: '',
    })
    expect(texts.at(-1)).toBe('no key')
    expect(noKey!.broken).toBeUndefined()

    // put off, they are the same to whoever reads the retry topic
    await settleAll(inlet, [
      { do: 'later', delivery: tombstone!, parcel: failedOnce(world, tombstone!.parcel, 0) },
      { do: 'later', delivery: noKey!, parcel: failedOnce(world, noKey!.parcel, 0) },
    ])
    await ackAll(inlet, got.slice(0, -2))
    const again = await take(world, inlet, 2)
    expect(
      again.map(({ parcel }) => parcel.event).sort((a, b) => (a.data ? 1 : 0) - (b.data ? 1 : 0)),
    ).toEqual([tombstone!.parcel.event, noKey!.parcel.event])
    await ackAll(inlet, again)
    const waited = await foreignRead(brokers, `${to.consumerGroup}.retry.1s`)
    const kept = waited.find(({ value }) => value === null)!
    expect(kept.key?.toString()).toBe('gone')
    expect(kept.headers.trace).toEqual(Buffer.from([0xff, 0, 0x80, 7]))
  })

  it('what we write is an ordinary record to it: CloudEvents in binary mode, the order key as key', {
    timeout: 180_000,
  }, async () => {
    const transport = await openOne()
    const to = makeSubscription(world)
    const inlet = await transport.subscribe(to)
    const event = makeEvent(world, { extensions: { orderkey: 'ann' }, headers: { traceparent: '00-1' } })
    await transport.publish(to.topic, [event])
    const [record] = await foreignRead(brokers, to.topic)
    const texts = Object.fromEntries(
      Object.entries(record!.headers).map(([name, value]) => [name, `${value}`]),
    )
    expect(texts).toMatchObject({
      ce_specversion: '1.0',
      ce_id: event.id,
      ce_source: event.source,
      ce_type: event.type,
      traceparent: '00-1',
    })
    expect(record!.key?.toString()).toBe('ann')
    expect(record!.value).toEqual(Buffer.from(event.data!))
    await settleAll(inlet, [burial(world, to, await takeOne(world, inlet))])
    const [letter] = await foreignRead(brokers, to.destinations[0]!.name)
    expect(JSON.parse(letter!.value!.toString())).toMatchObject({ originalEventId: event.id })
    expect(letter!.headers.ce_specversion?.toString()).toBe('1.0')
  })
})
