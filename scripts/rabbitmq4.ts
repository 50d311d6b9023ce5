// npm run rabbitmq4 [-- arguments for vitest]
//
// The trials, through faults too, the adapter's tests, chaos, order, drain and foreign messages on RabbitMQ 4, of which
// delivery limits and more differ from 3. The broker is fetched once, where one is root on Debian, and kept in the cache; else it says why not and ends with 1.

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { rabbitmq } from '../test/services/rabbitmq.ts'
import { getRabbit4 } from '../test/services/rabbitmq4.ts'
import { reasonOf } from '../test/services/say.ts'
import { openSession } from '../test/services/session.ts'

const TESTS = [
  'src/adapters/rabbitmq',
  'test/trials/rabbitmq', // and through faults
  'test/chaos/broker.test.ts',
  'test/chaos/order-rabbitmq.test.ts',
  'test/scenarios/order.test.ts',
  'test/scenarios/rabbitmq-drain.test.ts',
  'test/scenarios/foreign-letters.test.ts',
  'test/scenarios/foreign-return.test.ts',
  'test/scenarios/too-large.test.ts',
  'test/scenarios/consumer-timeout.test.ts',
  'test/scenarios/foreign-traffic.test.ts',
]
const root = join(import.meta.dirname, '..')

const test = async (): Promise<number> => {
  const { server, temporary } = await getRabbit4()
  Object.assign(process.env, { REPRIEVE_RABBITMQ_SERVER: server, TMPDIR: temporary, REPRIEVE_TEST_AMQP: '' })
  const session = openSession([rabbitmq])
  const stop = () => void session.close()
  process.once('SIGINT', stop).once('SIGTERM', stop)
  try {
    const [outcome] = await session.outcomes
    if (!outcome?.had) throw new Error(outcome?.reason)
    console.log(`RabbitMQ ${await rabbitmq.ping(outcome.url)}`)
    const asked = process.argv.slice(2)
    return await vitest(asked.length > 0 ? asked : TESTS, { [outcome.env]: outcome.url })
  } finally {
    await session.close()
  }
}

const vitest = (args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> =>
  new Promise((resolve, reject) => {
    const program = join(root, 'node_modules', 'vitest', 'vitest.mjs')
    const child = spawn(process.execPath, [program, 'run', ...args], {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: 'inherit',
    })
    child.on('error', reject)
    child.on('close', (code) => resolve(code ?? 1))
  })

try {
  process.exitCode = await test()
} catch (error) {
  console.error(`rabbitmq4: ${reasonOf(error)}`)
  process.exitCode = 1
}
