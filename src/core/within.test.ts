import { describe, expect, it } from 'vitest'
import { within } from './within.ts'

/** Rings by hand; tells whether anybody still waits for it. */
const bell = () => {
  const rung = Promise.withResolvers<void>()
  let waiting = 0
  return {
    ring: rung.resolve,
    waiting: () => waiting,
    sleep: (_ms: number, signal?: AbortSignal): Promise<void> => {
      waiting++
      const end = () => {
        waiting--
        rung.resolve()
      }
      signal?.addEventListener('abort', end, { once: true })
      return rung.promise
    },
  }
}

const late = () => new Error('too late')

describe('work within a time', () => {
  it('has its own answer, and the alarm is let go of without a word', async () => {
    const clock = bell()
    let made = 0
    const answer = await within(clock, 10, Promise.resolve('done'), () => {
      made++
      return late()
    })
    await Promise.resolve()
    expect(answer).toBe('done')
    expect(clock.waiting()).toBe(0)
    expect(made).toBe(0)
  })

  it('has its own error', async () => {
    const clock = bell()
    await expect(within(clock, 10, Promise.reject(new Error('refused')), late)).rejects.toThrow('refused')
    expect(clock.waiting()).toBe(0)
  })

  it('is late where the clock was first, and what it says then is nobody’s concern', async () => {
    const clock = bell()
    const work = Promise.withResolvers<string>()
    const answer = within(clock, 10, work.promise, late)
    clock.ring()
    await expect(answer).rejects.toThrow('too late')
    work.reject(new Error('and failed, at last')) // unheard: the test run would fail on it
  })
})
