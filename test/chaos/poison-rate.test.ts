import { expect, it } from 'vitest'
import { describeWith } from '../services/urls.ts'
import { FAIR } from './fair.ts'
import { poisonRate } from './poison-rate.ts'

describeWith('amqp', 'poison in front of a RabbitMQ queue', (transport) => {
  // a rate on a machine that others use as well: the more heats of both kinds, the less do its moods count
  it('leaves the others at least 0.9 of their rate', { timeout: 180_000 }, async () => {
    const { ratio, ...rest } = await poisonRate({
      transport,
      events: 800,
      poison: 20,
      heats: 5,
      mostHeats: 15,
    })
    console.log(`poison: ${ratio.toFixed(3)} of the rate without it: ${JSON.stringify(rest)}`)
    expect(ratio).toBeGreaterThanOrEqual(FAIR)
  })
})
