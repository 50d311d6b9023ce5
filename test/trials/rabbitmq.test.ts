import { afterAll, test } from 'vitest'
import { systemClock } from '../../src/adapters/system/clock.ts'
import { systemDice } from '../../src/adapters/system/dice.ts'
import { realWorld } from '../../src/testing/trials/index.ts'
import { describeWith, serviceUrl } from '../services/urls.ts'
import { aside, noting } from './rabbitmq-aside.ts'
import { adapterOf, trialSuite } from './suite.ts'

describeWith('amqp', 'rabbitmq', async (url) => {
  if (!serviceUrl('amqp')) return void test('trials', () => undefined)
  const tools = { clock: systemClock, dice: systemDice(), journal: () => undefined }
  const queues = new Set<string>()
  const { put, close } = aside(url)
  afterAll(() => close(queues))
  const open = noting(await adapterOf('rabbitmq'), queues)
  await trialSuite('rabbitmq', { ...realWorld(open, url, tools), raw: { put } }, { atOnce: 8 })
})
