import { afterAll, test, vi } from 'vitest'
import { systemClock } from '../../src/adapters/system/clock.ts'
import { systemDice } from '../../src/adapters/system/dice.ts'
import { realWorld, runTrial, survey, trials } from '../../src/testing/trials/index.ts'
import { openProxy } from '../faults/proxy.ts'
import { describeOwnKafka, hasOwnKafka, ownKafka } from '../kafka/own-kafka.ts'
import { freePorts } from '../services/ports.ts'
import { adapterOf } from './suite.ts'

/** The longest that a piece of the talk is held up. */
const DELAY = 4
/** So often all connections are cut, whatever is on its way: partitions stay ours, so nobody may notice. */
const CUT_EVERY = 2_500

/** Some measure how late a wait is, and the proxy shares its machine with the broker. */
const AGAIN = { retry: 2, timeout: 90_000 }

describeOwnKafka('kafka through a wire that is slow and breaks every so often', async () => {
  if (!hasOwnKafka) return void test('trials', () => undefined)
  const [port, between] = (await freePorts(2)) as [number, number]
  const proxy = await openProxy(`127.0.0.1:${port}`, { port: between })
  const kafka = await ownKafka({ ports: [port], advertised: [proxy.url] })
  afterAll(async () => {
    await proxy.close()
    await kafka.close()
  })
  const tools = { clock: systemClock, dice: systemDice(), journal: () => undefined }
  const world = realWorld(await adapterOf('kafka'), `kafka://${proxy.url}`, tools)
  const { skip } = await survey(world)
  proxy.delay(DELAY)
  proxy.cutEvery(CUT_EVERY)
  vi.setConfig({ maxConcurrency: 8 })
  for (const trial of trials) {
    if (skip(trial) !== undefined) continue
    test.concurrent(trial.name, AGAIN, async () => {
      const result = await runTrial(trial, world)
      if (result.is === 'failed') throw result.error
    })
  }
})
