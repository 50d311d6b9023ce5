import { expect, test } from 'vitest'
import { open } from '../../adapters/memory/index.ts'
import type { Open } from '../../contracts/adapter.ts'
import type { Transport } from '../../contracts/transport.ts'
import type { Parcel } from '../../core/parcel.ts'
import { trials } from './all.ts'
import { runTrials } from './run.ts'
import { TooLate } from './too-late.ts'
import type { TrialResult } from './trial.ts'
import { virtualWorld } from './worlds.ts'

/** Memory with something changed. */
const changed =
  (change: (transport: Transport) => Partial<Transport>): Open =>
  async (url, tools) => {
    const { transport } = await open(url, tools)
    return { transport: { ...transport, ...change(transport) } }
  }

test('every trial has a name of its own', () => {
  expect(new Set(trials.map(({ name }) => name)).size).toBe(trials.length)
  expect(trials.filter(({ about }) => about === 'transport').length).toBeGreaterThanOrEqual(45)
})

test('results come in the order of the trials, and one by one as they are there', async () => {
  const told: TrialResult[] = []
  const only = 'ledger: '
  const results = await runTrials(virtualWorld(open, 'memory:run'), {
    only,
    onResult: (each) => told.push(each),
  })
  expect(results.map(({ name }) => name)).toEqual(
    trials.filter(({ name }) => name.includes(only)).map(({ name }) => name),
  )
  expect(results.every(({ is }) => is === 'passed')).toBe(true)
  expect(told).toEqual(results)
})

test('a broken promise is a failed trial that says what was seen', async () => {
  const forgetful = changed(({ publish }) => ({ publish: async (topic) => publish(topic, []) }))
  const [result] = await runTrials(virtualWorld(forgetful, 'memory:forgetful'), {
    only: 'carries empty data',
  })
  expect(result?.is === 'failed' && result.error.message).toContain('0 of 1 deliveries came')
})

test('what comes too late is told apart from what is wrong: only that may be measured again', async () => {
  const only = 'later by 300 ms'
  const reluctant = changed(({ subscribe }) => ({
    subscribe: async (to) => {
      const inlet = await subscribe(to)
      const putOff = (parcel: Parcel, by: number): Parcel => ({ ...parcel, due: parcel.due + by })
      return {
        ...inlet,
        settle: (batch) =>
          inlet.settle(
            batch.map((each) =>
              each.do === 'later' ? { ...each, parcel: putOff(each.parcel, delay) } : each,
            ),
          ),
      }
    },
  }))
  let delay = 5000
  const [late] = await runTrials(virtualWorld(reluctant, 'memory:late'), { only })
  delay = -200
  const [early] = await runTrials(virtualWorld(reluctant, 'memory:early'), { only })
  expect([late, early].map((each) => each?.is === 'failed' && each.error instanceof TooLate)).toEqual([
    true,
    false,
  ])
  expect(early).toMatchObject({ is: 'failed', error: { message: expect.stringMatching(/early/) } })
})

test('where an adapter has no store, what is about one is skipped with a reason', async () => {
  const bare = virtualWorld(
    changed(() => ({})),
    'memory:bare',
  )
  const results = await runTrials(bare, { only: ({ about }) => about !== 'transport' })
  expect(new Set(results.map((result) => result.is === 'skipped' && result.reason))).toEqual(
    new Set(
      ['ledger', 'board', 'letters', 'operations'].map(
        (part) => `it is a transport only and keeps no ${part}`,
      ),
    ),
  )
})

test('a trial that hangs fails in the end, and what it opened is closed', async () => {
  let closed = 0
  const stuck = changed(({ close }) => ({
    subscribe: () => new Promise(() => undefined),
    close: async () => {
      closed++
      await close()
    },
  }))
  const [result] = await runTrials(virtualWorld(stuck, 'memory:stuck'), { only: 'carries headers', most: 50 })
  expect(result?.is === 'failed' && result.error.message).toContain('not over after 50 ms')
  expect(closed).toBeGreaterThanOrEqual(2)
})
