import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { describeOwnKafka, type OwnKafka, ownKafka } from '../../../test/kafka/own-kafka.ts'
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
import { TRIES_AGAIN } from './transactions.ts'
import { kafkaTransport } from './transport.ts'
import { openWire, type Wire } from './wire.ts'

/**
 * A broker that was killed in mid-commit may call the transaction committed when it is back, and never write its marks: what
 * was written hangs, and the next mark of that producer ends it, whichever way. Here the broker is made to forget
 * on purpose: it takes what no transaction was told of.
 */
describeOwnKafka('a transaction that is called committed and has no marks', () => {
  const tools = { clock: systemClock, dice: systemDice(), journal: () => {} }
  const world = realWorld(open, '', tools)
  let kafka: OwnKafka
  beforeAll(async () => {
    kafka = await ownKafka({ settings: () => ({ 'transaction.partition.verification.enable': 'false' }) })
  }, 90_000)
  afterAll(() => kafka.close())

  /** Its first transaction is told to nobody, neither its partitions nor its end; the client says that all went well. */
  const forgetful = (wire: Wire): Wire => {
    let first = true
    const nothing = (async () => {}) as never
    return {
      ...wire,
      transactor: (id: string): Producer => {
        const producer = wire.transactor(id)
        const begin = producer.beginTransaction.bind(producer)
        producer.beginTransaction = (async (options: never) => {
          const transaction = await begin(options)
          if (!first) return transaction
          first = false
          transaction.addPartitions = ((_metadata: never, _messages: never, done: () => void) =>
            done()) as never
          transaction.addConsumer = nothing
          transaction.commit = (async () => {
            producer.emit(TRIES_AGAIN as never, ...(['endTransaction'] as never[]))
            await transaction.cancel()
          }) as never
          return transaction
        }) as never
        return producer
      },
    }
  }

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
    const settings = readUrl(`kafka://${kafka.brokers[0]}?session=6000&heartbeat=300`)
    const transport = kafkaTransport(forgetful(await openWire(await loadClient(), settings, tools)))
    onTestFinished(() => transport.close())
    const to = makeSubscription(world, { transactions: true })
    const inlet = await transport.subscribe(to)
    await transport.publish(to.topic, makeEvents(world, 4))
    const got = await take(world, inlet, 4)
    const retries = got.map(
      (delivery) => ({ do: 'later', delivery, parcel: failedOnce(world, delivery.parcel, 0) }) as const,
    )
    for (const answer of await inlet.settle(retries)) expect(answer).toMatchObject({ code: 'unavailable' })
    expect(await inlet.settle(retries)).toEqual(['done', 'done', 'done', 'done'])
    const again = await take(world, inlet, 4)
    expect(sorted(idsOf(again))).toEqual(sorted(idsOf(got)))
    await ackAll(inlet, again)
    await takeNone(world, inlet)
  })
})
