import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { whenCommitted } from '../../../test/kafka/committed.ts'
import { describeOwnKafka, type OwnKafka, ownKafka } from '../../../test/kafka/own-kafka.ts'
import { until } from '../../../test/until.ts'
import type { Delivery } from '../../contracts/transport.ts'
import { realWorld } from '../../testing/trials/index.ts'
import {
  ackAll,
  idsOf,
  makeEvents,
  makeSubscription,
  sorted,
  take,
  takeNone,
} from '../../testing/trials/kit.ts'
import { failedOnce } from '../../testing/trials/samples.ts'
import { systemClock } from '../system/clock.ts'
import { systemDice } from '../system/dice.ts'
import { loadClient, type Producer } from './client.ts'
import { doctor, open } from './index.ts'
import { readUrl } from './settings.ts'
import { TRIES_AGAIN } from './transactor.ts'
import { kafkaTransport } from './transport.ts'
import { openWire, type Wire } from './wire.ts'

/**
 * A broker that was killed in mid-commit may call the transaction committed when it is back, and never write its marks: what
 * was written hangs, and the next mark of that producer ends it, whichever way. Here the broker is made to forget
 * on purpose: it takes what no transaction was told of.
 */
describeOwnKafka('a transaction that is called ended and has no marks', () => {
  const tools = { clock: systemClock, dice: systemDice(), journal: () => {} }
  const world = realWorld(open, '', tools)
  let kafka: OwnKafka
  beforeAll(async () => {
    kafka = await ownKafka({ settings: () => ({ 'transaction.partition.verification.enable': 'false' }) })
  })
  afterAll(() => kafka.close())

  /**
   * Of its first transaction the coordinator is not told that records were written, or offsets, and marks neither; the end
   * that it is told of, if anything, had to be asked for twice. `aborted`: something else fails before it could be committed.
   */
  const forgetful = (
    wire: Wire,
    forgets: readonly ('records' | 'offsets')[] = ['records', 'offsets'],
    aborted = false,
  ): Wire => {
    let first = true
    return {
      ...wire,
      transactor: (id: string): Producer => {
        const producer = wire.transactor(id)
        const begin = producer.beginTransaction.bind(producer)
        producer.beginTransaction = (async (options: never) => {
          const transaction = await begin(options)
          if (!first) return transaction
          first = false
          if (forgets.includes('records')) {
            transaction.addPartitions = ((_metadata: never, _messages: never, done: () => void) =>
              done()) as never
          }
          if (forgets.includes('offsets')) {
            transaction.addConsumer = (async () => {
              if (aborted) throw new Error('the group is not to be had')
            }) as never
          }
          const commit = transaction.commit.bind(transaction)
          const end = async () => {
            producer.emit(TRIES_AGAIN as never, ...(['endTransaction'] as never[]))
            await (forgets.length === 2 ? transaction.cancel() : commit())
          }
          transaction.commit = end as never
          transaction.abort = end as never
          return transaction
        }) as never
        return producer
      },
    }
  }
  /** Four events that are to be tried again, by a transport whose broker forgets so much of the first transaction. */
  const fourRetries = async (
    ...forgets: Parameters<typeof forgetful> extends [Wire, ...infer R] ? R : never
  ) => {
    const settings = readUrl(`kafka://${kafka.brokers[0]}?session=6000&heartbeat=300`)
    const wire = await openWire(await loadClient(), settings, tools)
    const transport = kafkaTransport(forgetful(wire, ...forgets))
    onTestFinished(() => transport.close())
    const to = makeSubscription(world, { transactions: true })
    const inlet = await transport.subscribe(to)
    await transport.publish(to.topic, makeEvents(world, 4))
    const got = await take(world, inlet, 4)
    const retries = got.map(
      (delivery) => ({ do: 'later', delivery, parcel: failedOnce(world, delivery.parcel, 0) }) as const,
    )
    return { inlet, got, settle: () => inlet.settle(retries) }
  }
  const refused = Array(4).fill(expect.objectContaining({ code: 'unavailable' }))
  const done = Array(4).fill('done')

  it('is found by the doctor where nobody is left to end it, with what ends it', async () => {
    const wire = await openWire(await loadClient(), readUrl(`kafka://${kafka.brokers[0]}`), tools)
    onTestFinished(wire.close)
    const to = makeSubscription(world)
    const { transport } = await open(`kafka://${kafka.brokers[0]}`, tools)
    await transport.subscribe(to)
    await transport.close()
    const producer = forgetful(wire).transactor(world.name('tx'))
    const transaction = await producer.beginTransaction({ producerId: -1n, producerEpoch: -1 } as never)
    const message = { topic: to.topic, partition: 2, value: Buffer.from('{}') }
    await transaction.send({ messages: [message] } as never)
    await producer.close()
    const examineIn = async (ms: number) => {
      const clock = { ...systemClock, now: () => systemClock.now() + ms }
      const subscriptions = [{ to, attempt: 1000, unsettled: 5000, retries: 1000, retention: 1000 }]
      const findings = await doctor.examine(
        `kafka://${kafka.brokers[0]}`,
        { subscriptions },
        { ...tools, clock },
      )
      return findings.filter(({ check }) => check === 'kafka-hanging')
    }
    expect(await examineIn(0)).toMatchObject([{ level: 'fine' }])
    expect(await examineIn(20 * 60_000)).toEqual([
      expect.objectContaining({
        level: 'wrong',
        where: `${to.topic}/2`,
        what: 'a transaction is open from offset 0 for 20 minutes',
        fix: `kafka-transactions.sh --bootstrap-server ${kafka.brokers[0]} abort --topic ${to.topic} --partition 2 --start-offset 0`,
      }),
    ])
  })

  it('has not happened: nothing of it is left, and it is settled again, once', async () => {
    const { inlet, got, settle } = await fourRetries()
    expect(await settle()).toEqual(refused)
    expect(await settle()).toEqual(done)
    const again = await take(world, inlet, 4)
    expect(sorted(idsOf(again))).toEqual(sorted(idsOf(got)))
    await ackAll(inlet, again)
    await takeNone(world, inlet)
  })

  it('has happened where its offsets are there: what hangs of its records is committed', async () => {
    const { inlet, got, settle } = await fourRetries(['records'])
    expect(await settle()).toEqual(done)
    const again = await take(world, inlet, 4)
    expect(sorted(idsOf(again))).toEqual(sorted(idsOf(got)))
    await ackAll(inlet, again)
    await takeNone(world, inlet)
  })

  it('has not happened where only its records are there: settled again, each is there twice under the same id', async () => {
    const { inlet, got, settle } = await fourRetries(['offsets'])
    expect(await settle()).toEqual(refused)
    expect(await settle()).toEqual(done)
    const again = await take(world, inlet, 8)
    expect(sorted(idsOf(again))).toEqual(sorted([...idsOf(got), ...idsOf(got)]))
    await ackAll(inlet, again)
    await takeNone(world, inlet)
  })

  it('is not believed to be aborted either: what hangs of it is not committed with the next one', async () => {
    const { inlet, got, settle } = await fourRetries(['records', 'offsets'], true)
    expect(await settle()).toEqual(refused)
    expect(await settle()).toEqual(done)
    const again = await take(world, inlet, 4)
    expect(sorted(idsOf(again))).toEqual(sorted(idsOf(got)))
    await ackAll(inlet, again)
    await takeNone(world, inlet)
  })

  it('is not done where its end was told by a broker that was killed then: nothing of it is lost', async () => {
    const settings = readUrl(`kafka://${kafka.brokers[0]}?session=6000&heartbeat=300`)
    const wire = await openWire(await loadClient(), settings, tools)
    let back: Promise<void> | undefined
    const committed = whenCommitted(wire, () => {
      back ??= kafka.kill().then(() => kafka.start())
    })
    const transport = kafkaTransport(committed)
    onTestFinished(() => transport.close())
    const to = makeSubscription(world, { transactions: true })
    const inlet = await transport.subscribe(to)
    await transport.publish(to.topic, makeEvents(world, 4))
    /** As those who keep a ledger would: what was told to be moved is not run again, and its copy must come. */
    const moved = new Set<string>()
    const copies: Delivery[] = []
    let open = await take(world, inlet, 4)
    const wanted = sorted(idsOf(open))
    await until('all copies', async () => {
      const answers = await inlet.settle(
        open.map((delivery) => ({ do: 'later', delivery, parcel: failedOnce(world, delivery.parcel, 0) })),
      )
      for (const [n, { parcel }] of open.entries()) if (answers[n] === 'done') moved.add(parcel.event.id)
      const refused = open.filter((_, n) => answers[n] instanceof Error)
      const come = await inlet.receive(8, AbortSignal.timeout(1_000))
      copies.push(...come.filter(({ parcel }) => parcel.trail.spent > 0))
      const originals = come.filter(({ parcel }) => parcel.trail.spent === 0)
      expect(idsOf(originals).filter((id) => moved.has(id))).toEqual([])
      open = [...refused, ...originals]
      return copies.length >= 4
    })
    await back
    expect(sorted(idsOf(copies))).toEqual(wanted)
    await ackAll(inlet, copies)
    await takeNone(world, inlet)
  })
})
