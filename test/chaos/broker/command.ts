import { brokerTest, FAULTS, type Fault } from './run.ts'
import { complaints } from './verdict.ts'

/** How often each blow falls in a long run, and how slow handlers are meanwhile. */
const LONG: Readonly<Record<Fault, { readonly times: number; readonly slowness: number }>> = {
  broker: { times: 3, slowness: 20 },
  confirm: { times: 20, slowness: 20 },
  ack: { times: 20, slowness: 20 },
  consumer: { times: 8, slowness: 20 },
  joining: { times: 16, slowness: 500 },
}

/** `npm run chaos -- rabbitmq broker ack --events 10000`: one run for each, on a RabbitMQ of its own. Answers how much was wrong. */
export const runFaults = async (
  names: readonly string[],
  events: number,
  patience: number,
): Promise<number> => {
  const asked = names.includes('all') ? FAULTS : names.map(faultOf)
  let wrongs = 0
  for (const fault of asked) {
    const { times, slowness } = LONG[fault]
    const blows = new Array<Fault>(times).fill(fault)
    const say = (line: string) =>
      process.stdout.isTTY ? process.stdout.write(`\r${line}   `) : console.error(line)
    const result = await brokerTest({ events, workers: 3, blows, slowness, patience, say })
    const { missing, wrong, beyond, left, fell, ...figures } = result
    const bad = {
      missing: missing.length,
      wrong: wrong.length,
      beyond: beyond.length,
      left: left.length,
      fell: fell.length,
    }
    console.log(`rabbitmq, ${fault} ×${times}: ${JSON.stringify({ ...figures, ...bad })}`)
    const found = complaints(result, { events, blows })
    for (const each of found) console.error(`rabbitmq, ${fault}: ${each}`)
    wrongs += found.length
  }
  return wrongs
}

const faultOf = (name: string): Fault => {
  const found = FAULTS.find((each) => each === name)
  if (found) return found
  console.error(`no fault '${name}': use ${FAULTS.join(', ')} or all`)
  process.exit(2)
}
