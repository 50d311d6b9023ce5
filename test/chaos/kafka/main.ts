import { type OwnKafka, ownKafka } from '../../kafka/own-kafka.ts'
import type { Moment } from '../../kafka/shears.ts'
import { wiredKafka } from '../../kafka/wired-kafka.ts'
import { brokerKilled, calm, comeAndGo, leaderLost, wireCut, workersKilled } from './faults.ts'
import { type StormOptions, type StormResult, storm } from './storm.ts'
import { complaints, figures } from './verdict.ts'

type Run = Pick<StormOptions, 'events' | 'patience' | 'say'>

export const onOwnKafka = async <T>(brokers: number, run: (kafka: OwnKafka) => Promise<T>): Promise<T> => {
  const kafka = await ownKafka({ brokers })
  try {
    return await run(kafka)
  } finally {
    await kafka.close()
  }
}

const CUTS = 20

/** Between a record and its confirmation (`confirm`), or between that and the commit of what it replaces (`ack`). */
const cutting =
  (...moments: readonly Moment[]) =>
  async (run: Run): Promise<StormResult> => {
    const { kafka, shears, close } = await wiredKafka()
    try {
      const fault = wireCut(shears, moments, CUTS)
      return await storm({ ...run, brokers: kafka.brokers, workers: 3, fault })
    } finally {
      await close()
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
        transactions: true,
        fault: brokerKilled(kafka),
      }),
    ),
  leader: (run: Run) =>
    onOwnKafka(3, (kafka) => storm({ ...run, brokers: kafka.brokers, workers: 3, fault: leaderLost(kafka) })),
  confirm: cutting('produce', 'confirm'),
  ack: cutting('commit', 'committed'),
} as const

export type StormName = keyof typeof STORMS
export const isStorm = (name: string): name is StormName => Object.hasOwn(STORMS, name)

/** Answers how much was wrong. */
export const runStorm = async (name: StormName, run: Run): Promise<number> => {
  const result = await STORMS[name](run)
  console.log(`kafka ${name}: ${figures(result)}`)
  const found = complaints(result, { ...run, transactions: name === 'transactions' })
  for (const each of found) console.error(`kafka ${name}: ${each}`)
  return found.length
}
