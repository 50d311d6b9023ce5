import { describe, expect, it } from 'vitest'
import { LONGEST, late, retryTopic, retryTopics } from './tiers.ts'

describe('retry tiers', () => {
  it('a wait goes to the shortest tier that covers it', () => {
    expect(retryTopic('mailer', -5)).toBe('mailer.retry.1s')
    expect(retryTopic('mailer', 1_000)).toBe('mailer.retry.1s')
    expect(retryTopic('mailer', 1_001)).toBe('mailer.retry.5s')
    expect(retryTopic('mailer', 31_000)).toBe('mailer.retry.2m')
    expect(retryTopic('mailer', LONGEST + 1)).toBe('mailer.retry.1h')
    expect(retryTopics('mailer')).toHaveLength(6)
  })

  it('it may come late by what the tier is longer, and by a glance', () => {
    expect(late(0)).toBe(1_100)
    expect(late(1_000)).toBe(100)
    expect(late(31_000)).toBe(89_100)
    expect(late(LONGEST)).toBe(100)
  })
})
