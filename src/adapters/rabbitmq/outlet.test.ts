import { EventEmitter } from 'node:events'
import { expect, it } from 'vitest'
import { expectCollected } from '../../../test/collected.ts'
import { virtualClock } from '../../testing/clock.ts'
import { systemDice } from '../system/dice.ts'
import { freshCounts } from './counts.ts'
import type { Link } from './link.ts'
import { openOutlet } from './outlet.ts'
import type { Outgoing } from './write.ts'

/** A broker that takes what it is sent, and confirms it when it is told to. */
const openBroker = () => {
  const clock = virtualClock()
  const confirms: ((error: Error | null) => void)[] = []
  let refusal: Error | undefined
  const channel = Object.assign(new EventEmitter(), {
    assertExchange: async () => ({}),
    close: async () => {},
    publish: (...[, , , , confirmed]: [string, string, Buffer, object, (error: Error | null) => void]) =>
      confirms.push(confirmed) > 0,
  })
  const connection = {
    createChannel: async () => channel,
    createConfirmChannel: async () => {
      if (refusal) throw refusal
      return channel
    },
  }
  const link = {
    place: 'host',
    patiently: async () => connection,
    blocked: () => undefined,
    unblocked: async () => {},
  } as unknown as Link
  const tools = { clock, dice: systemDice(), journal: () => {} }
  return {
    clock,
    outlet: openOutlet(link, 'events', tools, freshCounts()),
    confirms,
    refuse: (error: Error) => {
      refusal = error
    },
  }
}

it('a copy that is tried again and again for as long as nothing is confirmed is kept by nobody but the first try', async () => {
  const { clock, outlet, confirms } = openBroker()
  const of = {}
  const send = async () => {
    const item: Outgoing = {
      exchange: '',
      key: 'q',
      body: Buffer.alloc(10),
      options: { mandatory: true, persistent: true, headers: {} },
      of,
    }
    const [fate] = await clock.runUntil(outlet.send([item]))
    return { fate, item: new WeakRef(item) }
  }
  const tries = [await send(), await send(), await send(), await send()]
  for (const { fate } of tries) expect(fate).toMatchObject({ code: 'unavailable' })
  await expectCollected(tries.slice(1).map(({ item }) => item))
  const last = send()
  expect(confirms.length).toBe(1)
  confirms[0]!(null)
  expect((await last).fate).toBe('kept')
  expect((await send()).fate).toBe('kept')
  expect(confirms.length).toBe(1)
})

it('where its channel can not be opened it is unavailable', async () => {
  const { clock, outlet, refuse } = openBroker()
  refuse(new Error('Channel ended, no reply will be forthcoming'))
  const options = { mandatory: true, persistent: true, headers: {} } as const
  const [fate] = await clock.runUntil(
    outlet.send([{ exchange: '', key: 'q', body: Buffer.alloc(0), options }]),
  )
  expect(fate).toMatchObject({ code: 'unavailable', message: expect.stringContaining('host') })
})
