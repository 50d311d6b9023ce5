import { afterAll, expect, test } from 'vitest'
import { systemClock } from '../../src/adapters/system/clock.ts'
import { systemDice } from '../../src/adapters/system/dice.ts'
import { realWorld } from '../../src/testing/trials/index.ts'
import { describeOwnKafka, hasOwnKafka } from '../kafka/own-kafka.ts'
import { wiredKafka } from '../kafka/wired-kafka.ts'
import { rawPut } from './kafka-raw.ts'
import { adapterOf, trialTests } from './suite.ts'

/** The longest that a piece of the talk is held up. */
const DELAY = 4
/** So often a blow falls on all connections, whatever is on its way: partitions stay ours, so nobody may notice. */
const EVERY = 2_500
/** So long nothing of what is said arrives, on either side, before connections end. */
const HALF_OPEN = 300

/** Some measure how late a wait is, and the proxy shares its machine with the broker. */
const AGAIN = { atOnce: 8, retry: 2 }

describeOwnKafka('kafka through a wire that is slow, half-open and breaks every so often', async () => {
  if (!hasOwnKafka) return void test('trials', () => undefined)
  const { wire, close } = await wiredKafka()
  const over = new AbortController()
  const felt = { cut: 0, 'half-open': 0 }

  /** By turns cut at once, and half-open first: then what was said last is swallowed. */
  const strike = async () => {
    for (let n = 0; !over.signal.aborted; n++) {
      await systemClock.sleep(EVERY, over.signal)
      if (n % 2 === 0) {
        felt.cut += wire.open
        wire.cut()
        continue
      }
      wire.freeze()
      await systemClock.sleep(HALF_OPEN)
      felt['half-open'] += wire.open
      wire.cut()
      wire.admit()
      wire.delay(DELAY)
    }
  }

  const tools = { clock: systemClock, dice: systemDice(), journal: () => undefined }
  const { put, close: closeRaw } = rawPut(wire.url)
  const world = {
    ...realWorld(await adapterOf('kafka'), `kafka://${wire.url}`, tools),
    raw: { put },
  }
  await trialTests(world, AGAIN)
  wire.delay(DELAY)
  const striking = strike()
  afterAll(async () => {
    over.abort()
    await striking
    await closeRaw().catch(() => {}) // its connections may be cut
    await close()
  })

  test('the blows were felt, and connections were made again', () => {
    expect(felt.cut).toBeGreaterThan(0)
    expect(felt['half-open']).toBeGreaterThan(0)
    expect(wire.accepted).toBeGreaterThan(felt.cut + felt['half-open'])
  })
})
