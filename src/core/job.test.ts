import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { JOB_LEASE, type Job, jobAfter, jobEntry, lookAt, readJob } from './job.ts'
import type { Json } from './json.ts'

const HOUR = 3_600_000

describe('a job on a schedule', () => {
  it('begins with a wait', () => {
    expect(lookAt(undefined, HOUR, 'a', 1000)).toEqual({ next: HOUR + 1000 })
  })

  it('is left alone until it is due, and then taken by who looks first', () => {
    const job = { next: 5000 }
    expect(lookAt(job, HOUR, 'a', 4999)).toBe(job)
    const taken = lookAt(job, HOUR, 'a', 5000)
    expect(taken).toEqual({ next: 5000, held: { by: 'a', until: 35_000 } })
    expect(lookAt(taken, HOUR, 'b', 34_999)).toBe(taken)
  })

  it('goes to another when its lease is over, still due', () => {
    const dead = { next: 5000, held: { by: 'a', until: 35_000 } }
    expect(lookAt(dead, HOUR, 'b', 35_000)).toEqual({ next: 5000, held: { by: 'b', until: 65_000 } })
  })

  it('is not kept from all by a clock that was put back, nor waits longer than its period', () => {
    const ahead = { next: 5000, held: { by: 'a', until: 10 * HOUR } }
    expect(lookAt(ahead, HOUR, 'b', 6000).held?.by).toBe('b')
    expect(lookAt({ next: 10 * HOUR }, HOUR, 'b', 6000)).toEqual({ next: HOUR + 6000 })
  })

  it('is due a period later after a run, and makes up for none', () => {
    expect(jobAfter({ next: 5000 }, 1000, 5000)).toEqual({ next: 6000 })
    expect(jobAfter({ next: 5000 }, 1000, 5999)).toEqual({ next: 6000 })
    expect(jobAfter({ next: 5000 }, 1000, 6000)).toEqual({ next: 7000 })
    expect(jobAfter({ next: 5000 }, 1000, 4000)).toEqual({ next: 6000 })
  })

  it('is never held by two, and always held by somebody within a lease of being due', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.nat(20_000)), { maxLength: 60 }),
        (looks) => {
          let now = 0
          let job: Job = { next: 10_000 }
          for (const [by, ms] of looks) {
            now += ms
            const before = job
            job = lookAt(before, HOUR, by, now)
            if (before.held && before.held.until > now) expect(job).toBe(before)
            if (now >= 10_000) expect(job.held!.until).toBeLessThanOrEqual(now + JOB_LEASE)
          }
        },
      ),
    )
  })
})

it('what is read of an entry is a job, or nothing', () => {
  expect(jobEntry('recovery')).toBe('job/recovery')
  const job = { next: 5, held: { by: 'a', until: 6 } }
  expect(readJob({ ...job, more: 1 })).toStrictEqual(job)
  expect(readJob({ next: 5 })).toStrictEqual({ next: 5 })
  const odd: Json[] = [null, 7, 'x', [], {}, { next: '5' }, { next: 5, held: 1 }, { next: 5, held: {} }]
  for (const value of [
    ...odd,
    { next: 5, held: { by: 1, until: 6 } },
    { next: 5, held: { by: 'a', until: 'x' } },
  ]) {
    expect(readJob(value)).toBeUndefined()
  }
})
