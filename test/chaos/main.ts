import { parseArgs } from 'node:util'
import { kafkaUrl, serviceUrl } from '../services/urls.ts'
import { runFaults } from './broker/command.ts'
import { crashTest } from './crash.ts'
import { isStorm, runStorm, STORMS } from './kafka/main.ts'
import { runOrders } from './order/command.ts'
import { PATTERNS } from './patterns/effects.ts'
import { killOne, patternRun } from './patterns/run.ts'

const USAGE = `Usage: npm run chaos -- <what…> [--events N] [--kills N] [--minutes N]

  sqlite, rabbitmq, kafka, postgres
                              two workers, one of them killed again and again; every event is done or dead
  patterns                    what each idempotency pattern promises, with three workers on SQLite
  rabbitmq broker|confirm|ack|consumer|joining|all
                              blows on a RabbitMQ of its own
  kafka broker|workers|churn|leader|transactions|confirm|ack|calm
                              faults on Kafka brokers of its own
  order sqlite|rabbitmq|kafka|rabbitmq-broker|rabbitmq-cuts|rabbitmq-guests|kafka-broker|kafka-leader|kafka-cuts|kafka-guests
                              order by key with three workers: one of them, the broker or a leader killed, connections
                              cut, or one more worker that comes and goes

  --events N   20000    --kills N   20    --minutes N   10, then it is given up

It exits with 1 where anything that is counted is not as promised.`

const readArgs = () => {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        events: { type: 'string', default: '20000' },
        kills: { type: 'string', default: '20' },
        minutes: { type: 'string', default: '10' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${USAGE}`)
    return process.exit(2)
  }
}

const { positionals, values } = readArgs()
if (values.help) {
  console.log(USAGE)
  process.exit(0)
}

const urlOf = (name: string): string | undefined => {
  if (name === 'sqlite') return 'sqlite'
  if (name === 'rabbitmq') return serviceUrl('amqp')
  const postgres = name === 'postgres' ? serviceUrl('postgres') : undefined
  if (postgres) return `${postgres}?schema=chaos_${process.pid}`
  const kafka = name === 'kafka' ? serviceUrl('kafka') : undefined
  return kafka && kafkaUrl(kafka)
}

const names = positionals.length > 0 ? positionals : ['sqlite']
let lost = 0

const runPatterns = async (): Promise<void> => {
  for (const pattern of PATTERNS) {
    const result = await patternRun({
      pattern,
      transport: 'sqlite',
      events: Number(values.events),
      workers: 3,
      waves: Number(values.kills),
      blow: killOne,
      patience: Number(values.minutes) * 60_000,
    })
    console.log(`${pattern}: ${JSON.stringify(result)}`)
    lost += result.missing + result.wrong.length
  }
}

const runStorms = async (storms: readonly string[]): Promise<void> => {
  for (const name of storms) {
    if (!isStorm(name)) {
      console.error(`no storm '${name}': use ${Object.keys(STORMS).join(', ')}`)
      process.exit(2)
    }
    lost += await runStorm(name, {
      events: Number(values.events),
      patience: Number(values.minutes) * 60_000,
      say: (line) => process.stdout.isTTY && process.stdout.write(`\r${line}   `),
    })
  }
}

const storms = names[0] === 'kafka' ? names.splice(1) : []
if (storms.length > 0) {
  await runStorms(storms)
  process.exit(lost === 0 ? 0 : 1)
}

const faults = names[0] === 'rabbitmq' ? names.splice(1) : []
if (faults.length > 0) {
  lost = await runFaults(faults, Number(values.events), Number(values.minutes) * 60_000)
  process.exit(lost === 0 ? 0 : 1)
}

if (names[0] === 'order') {
  const { events, kills, minutes } = values
  const asked = { events: Number(events), kills: Number(kills), patience: Number(minutes) * 60_000 }
  process.exit((await runOrders(names.slice(1), asked)) === 0 ? 0 : 1)
}

for (const name of names) {
  if (name === 'patterns') {
    await runPatterns()
    continue
  }
  const transport = urlOf(name)
  if (!transport) {
    console.error(
      `no server for '${name}': use sqlite, rabbitmq, kafka, postgres or patterns, and start servers with \`npm run services -- up\``,
    )
    process.exit(2)
  }
  const result = await crashTest({
    transport,
    events: Number(values.events),
    kills: Number(values.kills),
    patience: Number(values.minutes) * 60_000,
    say: (line) => process.stdout.isTTY && process.stdout.write(`\r${line}   `),
  })
  console.log(`\n${name}: ${JSON.stringify({ ...result, missing: result.missing.length })}`)
  lost += result.missing.length
}
process.exit(lost === 0 ? 0 : 1)
