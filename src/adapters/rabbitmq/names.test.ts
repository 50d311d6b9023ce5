import { describe, expect, it } from 'vitest'
import { bindingOf, checkTopic, LONGEST_WAIT, queueOf, TIERS, tierFor } from './names.ts'

describe('binding keys', () => {
  it.each([
    ['orders.placed', 'orders.placed'],
    ['orders.*', 'orders.*.#'],
    ['a.b.*', 'a.b.*.#'],
    ['*', '#'],
  ])('%s is bound as %s', (topic, binding) => {
    expect(bindingOf(topic)).toBe(binding)
  })

  it.each(['order*', 'a.*.b', 'a.#', '#', 'a.b*.*'])('%s, which no whole words make, is refused', (topic) => {
    expect(() => bindingOf(topic)).toThrow(expect.objectContaining({ code: 'bad_usage' }))
  })
})

describe('names', () => {
  it('a queue is its service and topic', () => {
    expect(queueOf({ service: 'mail', topic: 'todo.task.created' })).toBe('mail.todo.task.created')
  })

  it('what AMQP has no room for is refused before it is sent', () => {
    const topic = 't'.repeat(246)
    expect(queueOf({ service: 'mail', topic })).toHaveLength(251)
    expect(() => queueOf({ service: 'mail', topic: `${topic}t` })).toThrow(/longer than RabbitMQ allows/)
    expect(() => checkTopic('ü'.repeat(128))).toThrow(expect.objectContaining({ code: 'bad_usage' }))
    expect(() => checkTopic('')).toThrow(expect.objectContaining({ code: 'bad_usage' }))
  })
})

describe('tiers', () => {
  it('a wait goes to the smallest tier that is not too early', () => {
    expect([1, 100, 101, 999, 1000, 1001, 59_000, 3_599_999].map(tierFor)).toEqual([
      100, 100, 250, 1000, 1000, 2000, 60_000, 3_600_000,
    ])
  })

  it('the longest is an hour; what is longer goes through it again', () => {
    expect(LONGEST_WAIT).toBe(3_600_000)
    expect(tierFor(LONGEST_WAIT + 1)).toBe(LONGEST_WAIT)
    expect(TIERS).toEqual([...TIERS].sort((a, b) => a - b))
  })
})
