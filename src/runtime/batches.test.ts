import { expect, it } from 'vitest'
import { freshParcel } from '../core/parcel.ts'
import type { Rules } from '../rules/index.ts'
import { virtualClock } from '../testing/clock.ts'
import type { Single, Together } from './attempt.ts'
import { batchesFor } from './batches.ts'
import { createDeadlines } from './deadline.ts'
import { createLanes } from './lanes.ts'
import type { Entering } from './passenger.ts'
import { createSolo } from './solo.ts'

it('a suspect that waits for a batch begins when the batch fails as a whole, and its events go on after it, one by one', async () => {
  const clock = virtualClock()
  const never = new AbortController().signal
  const told: string[] = []
  const first = Promise.withResolvers<void>()
  const registered: Together = {
    pattern: 'a',
    schema: undefined,
    together: async (events) => {
      told.push(events.map(({ id }) => id).join('+'))
      if (events.length > 1) await first.promise
    },
  }
  const solo = createSolo(clock, never)
  const permit = { success: () => {}, failure: () => {}, ignore: () => {} }
  const options = {
    name: 'shop',
    handlers: new Map<string, Single | Together>([['a', registered]]),
    tools: { clock, journal: () => {} },
    deadlines: createDeadlines(clock),
    guards: { admit: () => permit },
    batchFor: () => ({ size: 2, timeout: 1000, concurrency: 1, by: 'none' }),
    window: 10,
    solo,
  } as unknown as Parameters<typeof batchesFor>[0]
  const batches = batchesFor(options, never)!
  const lanes = createLanes(4, solo, () => batches.size)
  const rules = { event: 'a', timeout: 60_000, overrides: [], idempotency: { key: 'id' } } as unknown as Rules
  for (const id of ['1', '2']) {
    const event = { id, source: 's', type: 'a', extensions: {}, headers: {}, data: null }
    const delivery = { parcel: freshParcel(event, clock.now()), redelivered: false }
    lanes.add({
      lane: undefined,
      fast: false,
      run: (slot) => {
        const entering = { delivery, rules, topic: 'a', registered, slot, handBack: () => {} }
        batches.enter({ ...entering, conclude: () => slot.ended() } as Entering)
      },
    })
  }
  lanes.add({
    lane: undefined,
    fast: false,
    alone: true,
    run: (slot) => {
      told.push('suspect')
      slot.ended()
    },
  })
  await clock.advance(0)
  expect(told).toEqual(['1+2'])
  first.reject(new TypeError('nobody can read one of these'))
  await clock.advance(100)
  expect(told).toEqual(['1+2', 'suspect', '1', '2'])
})
