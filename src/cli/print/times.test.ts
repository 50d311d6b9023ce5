import { describe, expect, it } from 'vitest'
import { withTimes } from './times.ts'

const AT = 1_800_000_000_000
const TEXT = '2027-01-15T08:00:00.000Z'

describe('a moment in an answer to programs', () => {
  it('is told in ISO 8601, however deep it stands and whatever it is called', () => {
    const told = withTimes({
      ...{ at: AT, endedAt: AT, until: AT, calmSince: AT },
      operation: { chosen: { from: AT } },
      items: [{ at: AT }],
      times: [AT],
    })
    expect(told).toEqual({
      ...{ at: TEXT, endedAt: TEXT, until: TEXT, calmSince: TEXT },
      operation: { chosen: { from: TEXT } },
      items: [{ at: TEXT }],
      times: [TEXT],
    })
  })

  it('is no count, no span, no state and nothing that is no moment', () => {
    const same = { took: AT, count: AT, since: 5, from: 'open', until: null, oldest: 3_600_000, at: 1e300 }
    expect(withTimes(same)).toEqual(same)
  })

  it('that others wrote stands as they wrote it', () => {
    const same = { originalMessage: { at: AT }, fields: { at: AT }, details: { until: AT } }
    expect(withTimes(same)).toEqual(same)
    expect(withTimes({ differences: [{ path: '/at', was: AT }] })).toEqual({
      differences: [{ path: '/at', was: AT }],
    })
  })
})
