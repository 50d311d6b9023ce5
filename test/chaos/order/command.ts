import { kafkaUrl, serviceUrl } from '../../services/urls.ts'
import {
  kafkaGuests,
  kafkaKilled,
  kafkaLeaderLost,
  type OrderRun,
  rabbitmqGuests,
  rabbitmqKilled,
} from './brokers.ts'
import { kafkaCut, rabbitmqCut } from './cuts.ts'
import { type OrderResult, orderTest } from './run.ts'
import { complaints, figures } from './verdict.ts'

interface Long {
  /** How often the blow falls; as often as was asked for where it is workers that are killed. */
  readonly times?: number
  readonly run: (run: OrderRun) => Promise<OrderResult>
}

const beside = (url: () => string | undefined) => async (run: OrderRun) => {
  const transport = url()
  if (transport) return orderTest({ ...run, transport, workers: 3 })
  console.error('no server for it: start one with `npm run services -- up`')
  return process.exit(2)
}

const kafka = () => {
  const url = serviceUrl('kafka')
  return url && kafkaUrl(url)
}

const LONG: Readonly<Record<string, Long>> = {
  sqlite: { run: beside(() => 'sqlite') },
  rabbitmq: { run: beside(() => serviceUrl('amqp')) },
  kafka: { run: beside(kafka) },
  'rabbitmq-broker': { times: 3, run: rabbitmqKilled },
  'rabbitmq-cuts': { times: 20, run: rabbitmqCut },
  'rabbitmq-guests': { times: 5, run: rabbitmqGuests },
  'kafka-broker': { times: 3, run: kafkaKilled },
  'kafka-leader': { times: 3, run: kafkaLeaderLost },
  'kafka-cuts': { times: 20, run: kafkaCut },
  'kafka-guests': { times: 5, run: kafkaGuests },
}

const KEYS = 100

/** `npm run chaos -- order kafka-leader --events 10000`: one run for each. Answers how much was wrong. */
export const runOrders = async (
  names: readonly string[],
  asked: { readonly events: number; readonly kills: number; readonly patience: number },
): Promise<number> => {
  const unknown = names.find((name) => !Object.hasOwn(LONG, name))
  if (unknown !== undefined || names.length === 0) {
    const what = unknown === undefined ? 'name a run of order' : `no run of order '${unknown}'`
    console.error(`${what}: use ${Object.keys(LONG).join(', ')}`)
    process.exit(2)
  }
  let wrongs = 0
  for (const name of names) {
    const { times, run } = LONG[name]!
    const events = Math.ceil(asked.events / KEYS) * KEYS
    const order = { ...asked, events, keys: KEYS, kills: times ?? asked.kills }
    const result = await run(order)
    console.log(`order ${name}: ${figures(result)}`)
    const found = complaints(result, { ...order, ofWorkers: times === undefined })
    for (const each of found) console.error(`order ${name}: ${each}`)
    wrongs += found.length
  }
  return wrongs
}
