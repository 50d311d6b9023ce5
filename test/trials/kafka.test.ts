import { Producer } from '@platformatic/kafka'
import { afterAll, test } from 'vitest'
import { systemClock } from '../../src/adapters/system/clock.ts'
import { systemDice } from '../../src/adapters/system/dice.ts'
import { realWorld, type TrialWorld } from '../../src/testing/trials/index.ts'
import { describeWith, serviceUrl } from '../services/urls.ts'
import { adapterOf, trialSuite } from './suite.ts'

/** Writes straight to the topic, as a producer that knows nothing of us could. */
const rawPut = (brokers: string) => {
  const producer = new Producer({ clientId: 'trials', bootstrapBrokers: brokers.split(',') })
  const put: NonNullable<TrialWorld['raw']>['put'] = async ({ topic }, { contentType, headers, body }) => {
    const all = { ...headers, ...(contentType && { 'content-type': contentType }) }
    const bytes = new Map(Object.entries(all).map(([name, value]) => [Buffer.from(name), Buffer.from(value)]))
    await producer.send({ messages: [{ topic, value: Buffer.from(body ?? []), headers: bytes }], acks: -1 })
  }
  return { put, close: () => producer.close() }
}

describeWith('kafka', 'kafka', async (brokers) => {
  if (!serviceUrl('kafka')) return void test('trials')
  const tools = { clock: systemClock, dice: systemDice(), journal: () => undefined }
  const { put, close } = rawPut(brokers)
  afterAll(close)
  const world = { ...realWorld(await adapterOf('kafka'), `kafka://${brokers}`, tools), raw: { put } }
  await trialSuite('kafka', world, { atOnce: 10 })
})
