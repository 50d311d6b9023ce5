import { expect, test } from 'vitest'
import { virtualClock } from './clock.ts'

test('time stands still until it is turned', async () => {
  const clock = virtualClock(1000)
  let woken = false
  void clock.sleep(1).then(() => {
    woken = true
  })
  await new Promise((resolve) => setTimeout(resolve, 5))
  expect(clock.now()).toBe(1000)
  expect(woken).toBe(false)
  await clock.advance(1)
  expect(clock.now()).toBe(1001)
  expect(woken).toBe(true)
})

test('sleepers wake in the order they are due, those of one moment in the order they lay down', async () => {
  const clock = virtualClock(0)
  const woken: string[] = []
  for (const [name, ms] of [
    ['c', 30],
    ['a', 10],
    ['b1', 20],
    ['b2', 20],
  ] as const) {
    void clock.sleep(ms).then(() => woken.push(`${name}@${clock.now()}`))
  }
  await clock.advance(100)
  expect(woken).toEqual(['a@10', 'b1@20', 'b2@20', 'c@30'])
  expect(clock.now()).toBe(100)
})

test('what a sleeper wakes may sleep again, and is woken in the same turning', async () => {
  const clock = virtualClock(0)
  const beats: number[] = []
  const loop = async () => {
    while (beats.length < 5) {
      await clock.sleep(10)
      await new Promise((resolve) => setImmediate(resolve))
      beats.push(clock.now())
    }
  }
  const looping = loop()
  await clock.advance(50)
  expect(beats).toEqual([10, 20, 30, 40, 50])
  await looping
})

test('an aborted sleeper wakes at once and is no longer counted', async () => {
  const clock = virtualClock(0)
  const stop = new AbortController()
  const sleeping = clock.sleep(1000, stop.signal)
  expect(clock.sleepers).toBe(1)
  stop.abort()
  await sleeping
  expect(clock.sleepers).toBe(0)
  await clock.sleep(1000, stop.signal)
  expect(clock.now()).toBe(0)
})

test('sleeping 0 needs no turning, and lets others have a turn of the event loop', async () => {
  const clock = virtualClock(0)
  const order: string[] = []
  setImmediate(() => order.push('another'))
  await clock.sleep(0)
  order.push('sleeper')
  await clock.sleep(-1)
  expect(order).toEqual(['another', 'sleeper'])
  expect(clock.now()).toBe(0)
})

test('advance with `until` stops at the moment the promise settles', async () => {
  const clock = virtualClock(0)
  const soon = clock.sleep(40)
  void clock.sleep(50)
  await clock.advance(1000, soon)
  expect(clock.now()).toBe(40)
  await clock.advance(5, Promise.reject(new Error('also settled')))
  expect(clock.now()).toBe(40)
})

test('two that turn at once take turns', async () => {
  const clock = virtualClock(0)
  await Promise.all([clock.advance(10), clock.advance(20)])
  expect(clock.now()).toBe(30)
})

test('runUntil turns as far as needed and no further', async () => {
  const clock = virtualClock(0)
  const work = async () => {
    for (let step = 0; step < 3; step++) await clock.sleep(1000)
    return 'finished'
  }
  expect(await clock.runUntil(work())).toBe('finished')
  expect(clock.now()).toBe(3000)
  await expect(clock.runUntil(Promise.reject(new Error('as it is')))).rejects.toThrow('as it is')
})

test('runUntil gives up after `most` of virtual time', async () => {
  const clock = virtualClock(0)
  const forever = async () => {
    for (;;) await clock.sleep(60_000)
  }
  await expect(clock.runUntil(forever(), { most: 3_600_000 })).rejects.toThrow('3600000 ms of virtual time')
  expect(clock.now()).toBeLessThanOrEqual(3_600_000)
})

test('soon is within this turn, after all that waits for nothing else', async () => {
  const clock = virtualClock()
  const order: string[] = []
  setImmediate(() => order.push('another turn'))
  const quick = async () => {
    for (let step = 0; step < 10; step++) await null
    order.push('quick')
  }
  void quick()
  await clock.soon!()
  order.push('soon')
  await clock.sleep(0)
  expect(order).toEqual(['quick', 'soon', 'another turn'])
})
