import { afterAll, beforeAll, it } from 'vitest'
import { describeOwnKafka } from '../kafka/own-kafka.ts'
import { type WiredKafka, wiredKafka } from '../kafka/wired-kafka.ts'
import { FAULTS, leavesWhile } from './leaving.ts'

describeOwnKafka('an app that leaves while Kafka does not answer', () => {
  let wired: WiredKafka
  beforeAll(async () => {
    wired = await wiredKafka()
  })
  afterAll(() => wired.close())

  // one that is deaf takes as long as one that is half-open, and goes the same way
  it.each(FAULTS.filter(([, fault]) => fault !== 'deafen'))(
    '%s: handlers finish, nobody waits for ever, and nothing is lost',
    async (_, fault) => {
      const { wire } = wired
      const url = `kafka://${wire.url}?session=6000&heartbeat=300`
      await leavesWhile(fault, { wire, through: url, mended: url })
    },
  )
})
