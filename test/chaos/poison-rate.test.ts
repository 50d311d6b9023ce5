import { expect, it } from 'vitest'
import { describeWith } from '../services/urls.ts'
import { FAIR, poisonRate } from './poison-rate.ts'

describeWith('amqp', 'poison in front of a RabbitMQ queue', (transport) => {
  // a rate on a machine that others use as well: a second look is fair, a third would be begging
  it('leaves the others at least 0.9 of their rate', { retry: 1, timeout: 120_000 }, async () => {
    const { ratio, ...rest } = await poisonRate({ transport, events: 800, poison: 20, heats: 5 })
    console.log(`poison: ${ratio.toFixed(3)} of the rate without it: ${JSON.stringify(rest)}`)
    expect(ratio).toBeGreaterThanOrEqual(FAIR)
  })
})
