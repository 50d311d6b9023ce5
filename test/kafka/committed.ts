import type { Producer } from '../../src/adapters/kafka/client.ts'
import type { Wire } from '../../src/adapters/kafka/wire.ts'

/** A wire on which `then` is called in the tick in which brokers have told that a transaction is committed, each time. */
export const whenCommitted = (wire: Wire, then: () => void): Wire => ({
  ...wire,
  transactor: (id): Producer => {
    const producer = wire.transactor(id)
    const begin = producer.beginTransaction.bind(producer)
    producer.beginTransaction = (async (options: never) => {
      const transaction = await begin(options)
      const commit = transaction.commit.bind(transaction)
      transaction.commit = (async () => {
        await commit()
        then()
      }) as never
      return transaction
    }) as never
    return producer
  },
})
