import { connect } from 'amqplib'
import { afterAll, test } from 'vitest'
import { systemClock } from '../../src/adapters/system/clock.ts'
import { systemDice } from '../../src/adapters/system/dice.ts'
import { realWorld, type TrialWorld } from '../../src/testing/trials/index.ts'
import { describeWith, serviceUrl } from '../services/urls.ts'
import { adapterOf, trialSuite } from './suite.ts'

/** Writes straight to a subscription's queue, as a producer that knows nothing of us could. */
const rawPut = (url: string) => {
  const connecting = connect(url)
  const opening = connecting.then((connection) => connection.createConfirmChannel())
  const put: NonNullable<TrialWorld['raw']>['put'] = async (to, { contentType, headers, body }) => {
    const channel = await opening
    channel.sendToQueue(`${to.service}.${to.topic}`, Buffer.from(body ?? []), {
      persistent: true,
      headers,
      ...(contentType && { contentType }),
    })
    await channel.waitForConfirms()
  }
  return { put, close: async () => (await connecting).close() }
}

describeWith('amqp', 'rabbitmq', async (url) => {
  if (!serviceUrl('amqp')) return void test('trials')
  const tools = { clock: systemClock, dice: systemDice(), journal: () => undefined }
  const { put, close } = rawPut(url)
  afterAll(close)
  const world = { ...realWorld(await adapterOf('rabbitmq'), url, tools), raw: { put } }
  await trialSuite('rabbitmq', world, { atOnce: 10 })
})
