import { Admin } from '@platformatic/kafka'
import { afterAll, expect, it } from 'vitest'
import { makeTopic } from '../../../test/kafka/make-topic.ts'
import { describeWith } from '../../../test/services/urls.ts'
import type { Json } from '../../core/json.ts'
import { realWorld } from '../../testing/trials/index.ts'
import { makeEvent } from '../../testing/trials/kit.ts'
import { systemClock } from '../system/clock.ts'
import { systemDice } from '../system/dice.ts'
import { open } from './index.ts'

describeWith('kafka', 'foreign letters that go back by Kafka', (brokers) => {
  const tools = { clock: systemClock, dice: systemDice(), journal: () => {} }
  const world = realWorld(open, `kafka://${brokers}`, tools)
  const admin = new Admin({ clientId: 'test', bootstrapBrokers: brokers.split(',') })
  afterAll(() => admin.close())

  it('where one came from another broker, or says no place at all, it is refused for good, and the others go', async () => {
    const topic = world.name('theirs')
    await makeTopic(admin, topic)
    const transport = (await world.open()).transport!
    const good = { topic, headers: [['trace', 'YWJj']] }
    const addresses: Json[] = [
      null,
      'x',
      { exchange: '', key: 'work', properties: {}, headers: {} },
      { ...good, topic: 5 },
      { ...good, partition: -1 },
      { ...good, key: { bytes: 'eA==' } },
      { ...good, headers: [['trace']] },
      { ...good, headers: [5] },
      { ...good, topic: `${topic}-gone` },
      good,
    ]
    const answers = await transport.sendBack!(
      addresses.map((address) => ({
        origin: { to: 'where it was', address },
        event: makeEvent(world),
        headers: {},
      })),
    )
    const hopeless = expect.objectContaining({ code: 'unheard', fix: expect.stringContaining('foreign') })
    const gone = expect.objectContaining({ code: 'unknown_destination' })
    expect(answers).toEqual([...addresses.slice(0, 8).map(() => hopeless), gone, undefined])
    await transport.close()
    await admin.deleteTopics({ topics: [topic] })
  })
})
