import { EventEmitter } from 'node:events'
import { expect, it } from 'vitest'
import { systemClock } from '../system/clock.ts'
import { systemDice } from '../system/dice.ts'
import type { Connection } from './client.ts'
import { examineOne } from './doctor.ts'
import { examineForeign } from './doctor-foreign.ts'
import { questionsOf } from './questions.ts'
import { readUrl } from './settings.ts'
import { declareDestination, declareOn } from './topology.ts'

const tools = { clock: systemClock, dice: systemDice(), journal: () => {} }
const DOWN = "NOT_FOUND - home node 'rabbit@b' of durable queue 'q' in vhost '/' is down or inaccessible"
const MISSING = "NOT_FOUND - no queue 'q' in vhost '/'"

/** A broker that says this of every queue it is asked for. */
const saying = (text: string): Connection => {
  const refuse = () =>
    Promise.reject(Object.assign(new Error(`Operation failed: with message "${text}"`), { code: 404 }))
  const channel = () =>
    Object.assign(new EventEmitter(), {
      checkQueue: refuse,
      assertQueue: refuse,
      consume: refuse,
      close: async () => {},
    })
  return { createChannel: async () => channel() } as unknown as Connection
}

const queue = { is: 'queue', name: 'q', options: { durable: true, arguments: {} } } as const

it('a queue of ours whose node is down is wrong, and not one that will be made', async () => {
  const examine = (text: string) =>
    examineOne(queue, questionsOf(saying(text), tools), readUrl('amqp://host'))
  const [down] = await examine(DOWN)
  expect(down).toMatchObject({ check: 'rabbitmq-missing', level: 'wrong', where: 'queue q' })
  expect(down!.what).toContain("node 'rabbit@b'")
  expect(down!.fix).toMatch(/start .* node/)
  expect(await examine(MISSING)).toMatchObject([{ check: 'rabbitmq-missing', level: 'fine' }])
})

it('a foreign queue whose node is down is wrong; one that is not there may come', async () => {
  const examine = (text: string) =>
    examineForeign({ name: 'q', keep: 1 }, questionsOf(saying(text), tools), '4.0.5')
  expect(await examine(DOWN)).toMatchObject([
    {
      check: 'rabbitmq-foreign',
      level: 'wrong',
      what: expect.stringContaining('down'),
      fix: expect.stringMatching(/start .* node/),
    },
  ])
  expect(await examine(MISSING)).toMatchObject([{ check: 'rabbitmq-foreign', level: 'risky' }])
})

it.each([true, false])('to collect from it waits for the node; foreign: %s', async (foreign) => {
  const collect = (text: string) =>
    declareOn(saying(text), systemClock, 'host', declareDestination({ name: 'q', foreign }))
  await expect(collect(DOWN)).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('is down or inaccessible'),
  })
  if (foreign) await expect(collect(MISSING)).rejects.toMatchObject({ code: 'unknown_destination' })
})
