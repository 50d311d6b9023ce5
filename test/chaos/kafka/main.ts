import { type OwnKafka, ownKafka } from '../../kafka/own-kafka.ts'
import { brokerKilled, calm, comeAndGo, leaderLost, workersKilled } from './faults.ts'
import { type StormOptions, type StormResult, storm } from './storm.ts'

type Run = Pick<StormOptions, 'events' | 'patience' | 'say'>

const onOwn = async (brokers: number, run: (kafka: OwnKafka) => Promise<StormResult>) => {
  const kafka = await ownKafka({ brokers })
  try {
    return await run(kafka)
  } finally {
    await kafka.close()
  }
}

/** Each on brokers of its own. */
export const STORMS = {
  calm: (run: Run) => onOwn(1, ({ brokers }) => storm({ ...run, brokers, workers: 3, fault: calm })),
  broker: (run: Run) =>
    onOwn(1, (kafka) => storm({ ...run, brokers: kafka.brokers, workers: 3, fault: brokerKilled(kafka) })),
  workers: (run: Run) =>
    onOwn(1, ({ brokers }) => storm({ ...run, brokers, workers: 3, fault: workersKilled(4) })),
  churn: (run: Run) =>
    onOwn(1, ({ brokers }) => storm({ ...run, brokers, workers: 2, slow: 400, fault: comeAndGo() })),
  transactions: (run: Run) =>
    onOwn(1, (kafka) =>
      storm({
        ...run,
        brokers: kafka.brokers,
        workers: 3,
        rules: ['transactions: true'],
        fault: brokerKilled(kafka),
      }),
    ),
  leader: (run: Run) =>
    onOwn(3, (kafka) => storm({ ...run, brokers: kafka.brokers, workers: 3, fault: leaderLost(kafka) })),
} as const

export type StormName = keyof typeof STORMS
export const isStorm = (name: string): name is StormName => Object.hasOwn(STORMS, name)
