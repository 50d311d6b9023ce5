import { expect, it } from 'vitest'
import { systemClock } from '../../src/adapters/system/clock.ts'
import { describeWith, kafkaUrl } from '../services/urls.ts'
import { type OrderStage, orderTest } from './order.ts'

const EVENTS = 900
const KEYS = 30
const PATIENCE = 150_000

/** It has had its share of the work before it goes, so that partitions really went to and fro. */
const comeAndGo = async ({ join, leave, effectsOf, over }: OrderStage): Promise<void> => {
  const guest = await join()
  while (effectsOf(guest) < 20 && !over()) await systemClock.sleep(100)
  await leave(guest)
}

describeWith('kafka', 'order by key while partitions go to and fro', (url) => {
  it('is kept, and nothing is lost, when a third worker joins and leaves while keys are in retry', async () => {
    const { byKey, ...rest } = await orderTest({
      transport: kafkaUrl(url),
      service: 'order-guests-svc',
      events: EVENTS,
      keys: KEYS,
      kills: 2,
      slow: 500,
      blow: comeAndGo,
      patience: PATIENCE,
    })
    console.log(`order test on kafka, a worker comes and goes: ${JSON.stringify(rest)}`)
    const wanted = Array.from({ length: EVENTS / KEYS }, (_, n) => n)
    for (let k = 0; k < KEYS; k++) expect(byKey.get(`k${k}`), `key k${k}`).toEqual(wanted)
    expect(rest).toMatchObject({ firsts: EVENTS, doubled: 0, wentBack: 0, kills: 2 })
    expect(rest.workers).toBeGreaterThanOrEqual(3)
  }, 200_000)
})
