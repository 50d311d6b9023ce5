import { systemClock } from '../../../src/adapters/system/clock.ts'
import type { OwnBroker } from '../../rabbitmq/own-broker.ts'

/** Quorum queues tell their lengths every five seconds: what it says may be as old, and a copy in a wait tier be missing. */
const STALE = 12_000

/** What the broker itself says is in its queues, unacknowledged included. */
const leftIn = async (broker: OwnBroker): Promise<readonly string[]> => {
  const lines = (await broker.control('list_queues', '-q', 'name', 'messages')).split('\n')
  return lines.filter((line) => /\t[1-9]\d*$/.test(line))
}

/** When it has said for long enough that there is nothing, or when time is over. */
export const leftAtEnd = async (broker: OwnBroker, end: number): Promise<readonly string[]> => {
  let left = await leftIn(broker)
  for (let empty = Date.now(); Date.now() - empty < STALE && Date.now() < end; ) {
    await systemClock.sleep(500)
    left = await leftIn(broker)
    if (left.length > 0) empty = Date.now()
  }
  return left
}
