import { randomBytes } from 'node:crypto'
import { Admin } from '@platformatic/kafka'
import { afterAll, test } from 'vitest'
import { systemClock } from '../../src/adapters/system/clock.ts'
import { systemDice } from '../../src/adapters/system/dice.ts'
import { realWorld } from '../../src/testing/trials/index.ts'
import { describeWith, serviceUrl } from '../services/urls.ts'
import { rawPut } from './kafka-raw.ts'
import { adapterOf, trialSuite } from './suite.ts'

/** Some 800 topics: a small broker that keeps those of a few runs dies of them. */
const removeTopics = async (brokers: string, run: string): Promise<void> => {
  const admin = new Admin({ clientId: 'trials', bootstrapBrokers: brokers.split(','), timeout: 30_000 })
  const topics = (await admin.listTopics()).filter((name) => name.includes(`trial-${run}-`))
  while (topics.length > 0) await admin.deleteTopics({ topics: topics.splice(0, 50) })
  await admin.close()
}

describeWith('kafka', 'kafka', async (brokers) => {
  if (!serviceUrl('kafka')) return void test('trials', () => undefined)
  const tools = { clock: systemClock, dice: systemDice(), journal: () => undefined }
  const run = randomBytes(6).toString('hex')
  const { put, close } = rawPut(brokers)
  afterAll(async () => {
    await close()
    await removeTopics(brokers, run)
  })
  const world = { ...realWorld(await adapterOf('kafka'), `kafka://${brokers}`, tools, run), raw: { put } }
  await trialSuite('kafka', world, { atOnce: 8 })
})
