import { randomUUID } from 'node:crypto'
import { connect } from 'amqplib'
import { describe, expect, it, onTestFinished } from 'vitest'
import { describeWith, kafkaUrl } from '../services/urls.ts'
import { type KillerOptions, type KillerResult, killerTest, WINDOW } from './killer.ts'
import { PATIENCE } from './patience.ts'

const only = async (options: Omit<KillerOptions, 'patience'>): Promise<KillerResult> => {
  const result = await killerTest({ ...options, patience: PATIENCE })
  const { killer, runs, deaths, letters, done, missing, doubled, seconds, code } = result
  console.log(
    `killer test: ${JSON.stringify({ runs, deaths, letters, done, missing, doubled, seconds, code })}`,
  )
  expect(letters).toEqual([
    {
      event: killer,
      kind: 'crash',
      reason: 'poison',
      error: 'the process died 3 times on it',
      to: expect.any(String),
    },
  ])
  expect({ missing, done }).toEqual({ missing: 0, done: options.events - 1 })
  expect({ runs, deaths, code }).toEqual({ runs: 3, deaths: 3, code: 0 })
  expect(doubled).toBeLessThanOrEqual(options.pattern === 'upsert' ? 2 * WINDOW : WINDOW)
  return result
}

const EXIT = 'process.exit()'
const LOOP = 'for (;;) {}'
/** Longer than a busy machine alone keeps a process from saying that it lives: that would be a death more. */
const STUCK_AFTER = '5s'
const EAT = 'const eaten = []; for (;;) eaten.push(new Array(1000).fill({ id }).map((each) => ({ ...each })))'

describe('one message that kills its process, and only it, is quarantined', () => {
  it('by process.exit, among 10,000', () => only({ transport: 'sqlite', events: 10_000, deed: EXIT }))

  it('by process.exit, where only what comes again is claimed', () =>
    only({ transport: 'sqlite', events: 1000, deed: EXIT, pattern: 'upsert' }))

  it('by eating all memory', () =>
    only({ transport: 'sqlite', events: 500, deed: EAT, env: { NODE_OPTIONS: '--max-old-space-size=80' } }))

  it('by a loop without end, and the watchdog says where', async () => {
    const { stderr } = await only({
      transport: 'sqlite',
      events: 500,
      deed: LOOP,
      args: ['--stuck-after', STUCK_AFTER],
    })
    expect(stderr).toMatch(/the event loop has been blocked for \d+ ms:\n {4}at .*handlers\.ts:7:/)
  })
})

describeWith('amqp', 'one message that kills its process on a real RabbitMQ', (url) => {
  it('is quarantined, and only it', async () => {
    const name = `killer-${randomUUID().slice(0, 8)}`
    onTestFinished(() => sweep(url, name))
    await only({ transport: url, events: 1000, deed: EXIT, name })
  })
})

describeWith('kafka', 'one message that kills its process on a real Kafka', (url) => {
  it('is quarantined, and only it, though partitions go to and fro', async () => {
    // the shortest session that brokers allow: so long a dead member keeps its partitions
    await only({ transport: `${kafkaUrl(url)}?session=6000&heartbeat=1000`, events: 300, deed: EXIT })
  })
})

const sweep = async (url: string, name: string): Promise<void> => {
  const model = await connect(url)
  const channel = await model.createChannel()
  const queue = `${name}.${name}.sent`
  for (const each of [queue, `_${name}.deadletter`, `_${name}.deadletter.quarantine`])
    await channel.deleteQueue(each)
  await channel.deleteExchange(`${queue}.dlx`)
  await model.close()
}
