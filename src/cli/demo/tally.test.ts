import { describe, expect, it } from 'vitest'
import type { Office } from '../../office/index.ts'
import type { MailServer } from './smtp-server.ts'
import { addsUp, createCounter } from './tally.ts'

const about = { at: 0, service: 's', topic: 't', type: 't' }
const office = (dead: number) => ({ count: async () => dead }) as unknown as Office
const server = (...taken: string[]) =>
  ({ taken: new Map(taken.map((id) => [id, 1])) }) as unknown as MailServer

describe('the count of the demo', () => {
  it('follows each event from publish to its end', async () => {
    const counter = createCounter()
    for (const id of ['a', 'b', 'c', 'd']) counter.accept(id)
    expect(await counter.take(office(0), server())).toMatchObject({ accepted: 4, waiting: 4, inFlight: 0 })
    for (const id of ['a', 'b', 'c']) counter.begin(id)
    counter.read({ ...about, is: 'done', event: 'a', attempt: 1, took: 1 })
    counter.read({ ...about, is: 'retry', event: 'b', attempt: 1, delay: 5 })
    counter.read({ ...about, is: 'dead', event: 'd', letter: 'l', reason: 'permanent', to: 'x' })
    const tally = await counter.take(office(1), server('a'))
    expect(tally).toEqual({ accepted: 4, done: 1, waiting: 1, dead: 1, inFlight: 1 })
    expect(addsUp(tally)).toBe(true)
    expect(counter.quiet()).toBe(false)
  })

  it('an event that ended before publish answered does not wait', async () => {
    const counter = createCounter()
    counter.begin('a')
    counter.read({ ...about, is: 'done', event: 'a', attempt: 1, took: 1 })
    counter.accept('a')
    expect(counter.quiet()).toBe(true)
  })

  it('does not add up when one is lost, or none took it', async () => {
    const counter = createCounter()
    counter.accept('a')
    counter.begin('a')
    counter.read({ ...about, is: 'done', event: 'a', attempt: 1, took: 1 })
    expect(addsUp(await counter.take(office(0), server()))).toBe(false)
    expect(addsUp(await counter.take(office(1), server('a')))).toBe(false)
    expect(addsUp(await counter.take(office(0), server('a')))).toBe(true)
  })
})
