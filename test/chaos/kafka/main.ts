import { type OwnKafka, ownKafka } from '../../kafka/own-kafka.ts'
import { brokerKilled, calm, comeAndGo, leaderLost, workersKilled } from './faults.ts'
import { type StormOptions, storm } from './storm.ts'

type Run = Pick<StormOptions, 'events' | 'patience' | 'say'>

export const onOwnKafka = async <T>(brokers: number, run: (kafka: OwnKafka) => Promise<T>): Promise<T> => {
  const kafka = await ownKafka({ brokers })
  try {
    return await run(kafka)
  } finally {
    await kafka.close()
  }
}

/** Each on brokers of its own. */
export const STORMS = {
  calm: (run: Run) => onOwnKafka(1, ({ brokers }) => storm({ ...run, brokers, workers: 3, fault: calm })),
  broker: (run: Run) =>
    onOwnKafka(1, (kafka) =>
      storm({ ...run, brokers: kafka.brokers, workers: 3, fault: brokerKilled(kafka) }),
    ),
  workers: (run: Run) =>
    onOwnKafka(1, ({ brokers }) => storm({ ...run, brokers, workers: 3, fault: workersKilled(4) })),
  churn: (run: Run) =>
    onOwnKafka(1, ({ brokers }) => storm({ ...run, brokers, workers: 2, slow: 400, fault: comeAndGo() })),
  transactions: (run: Run) =>
    onOwnKafka(1, (kafka) =>
      storm({
        ...run,
        brokers: kafka.brokers,
        workers: 3,
        rules: ['transactions: true'],
        fault: brokerKilled(kafka),
      }),
    ),
  leader: (run: Run) =>
    onOwnKafka(3, (kafka) => storm({ ...run, brokers: kafka.brokers, workers: 3, fault: leaderLost(kafka) })),
} as const

export type StormName = keyof typeof STORMS
export const isStorm = (name: string): name is StormName => Object.hasOwn(STORMS, name)
