import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type Letter, Permanent, Transient } from '../../src/index.ts'
import { createOffice, decisionsOf } from '../../src/office/index.ts'
import { testApp } from '../../src/testing/index.ts'
import { sampleLetters } from '../../src/testing/letters.ts'

const MINUTE = 60_000
const STATES = ['open', 'replaying', 'resolved', 'dead again', 'discarded', 'quarantined'] as const

const BOOK = `version: 1
operations: { approval: always }
defaults: { policy: none, deadLetter: { reprocessing: automatic } }
dependencies: { smtp: { breaker: { failures: 1, open: 1m } } }
redact: { cards: { event: 'card.*', paths: [$.number] } }
services:
  desk:
    events:
      board.asked: { deadLetter: { reprocessing: manual } }
      news.made: { ttl: 1m }
      mail.sent: { dependencies: [smtp] }
`

/** An app with a service that refuses, and its letters by the type of their event. */
const refusing = async () => {
  const app = await testApp({ yaml: BOOK })
  const refuse = () => {
    throw new Permanent('no')
  }
  const types = [
    'board.asked',
    'news.made',
    'card.used',
    'plain.one',
    'given.up',
    'sent.back',
    'died.twice',
    'taken',
  ]
  const desk = app.service('desk')
  for (const type of types) desk.on(type, refuse)
  desk.on('form.sent', z.object({ amount: z.number() }), refuse)
  desk.on('mail.sent', (_, ctx) =>
    ctx.call('smtp', () => {
      throw new Transient('no answer')
    }),
  )
  const letterOf = async (type: string): Promise<string> => {
    const [kept] = await app.office.list({ type, states: ['open'] }, 1)
    return kept!.letter.id
  }
  return { app, types, letterOf }
}

describe('a dry run', () => {
  it('has one word for each letter that would not be sent', async () => {
    const { app, types, letterOf } = await refusing()
    await using _ = app
    const { office, store, clock } = app
    const { plan, items, cancel } = office.operations
    await app.publish('news.made', { n: 1 })
    await app.settled()
    await clock.advance(2 * MINUTE)
    for (const type of types.filter((each) => each !== 'news.made')) await app.publish(type, { number: 7 })
    await app.publish('form.sent', { amount: 'much' })
    await app.settled()

    // each is brought to where something speaks against it
    await office.discard([await letterOf('given.up')])
    await office.replay({ ids: [await letterOf('died.twice')] })
    await app.settled()
    const taken = await plan({ ids: [await letterOf('taken')] })
    await app.publish('mail.sent', { to: 'ann' })
    // one process that tripped tells the others so
    await clock.advance(5000)
    expect(await app.hand.breakers()).toMatchObject([{ name: 'smtp', report: { state: 'open' } }])
    await app.hand.pause('desk')
    await clock.advance(5000)
    const onItsWay = await letterOf('sent.back')
    await office.replay({ ids: [onItsWay] })
    const made = (id: string, over: Partial<Letter>) => sampleLetters(1, clock.now(), () => ({ id, ...over }))
    await store.letters!.keep([
      ...made('poison', { reason: 'poison' }),
      ...made('stranger', { reason: 'found', service: 'unknown' }),
    ])
    const wanted: Readonly<Record<string, string>> = {
      [await letterOf('plain.one')]: 'replay',
      [await letterOf('board.asked')]: 'needs approval',
      [await letterOf('form.sent')]: 'invalid schema',
      [await letterOf('news.made')]: 'expired',
      [await letterOf('mail.sent')]: 'downstream unhealthy',
      [await letterOf('died.twice')]: 're-entry limit',
      [(await office.list({ type: 'given.up' }, 1))[0]!.letter.id]: 'already done',
      [onItsWay]: 'on its way',
      poison: 'quarantined',
      [await letterOf('card.used')]: 'redacted',
      stranger: 'nowhere to go',
      [await letterOf('taken')]: 'in another operation',
      nobody: 'unknown letter',
    }
    const ids = Object.keys(wanted)
    const planned = await plan({ ids, states: STATES })
    const said = await items(planned.operation.id, { limit: 100 })
    expect(Object.fromEntries(said.map(({ letter, because }) => [letter, because ?? 'replay']))).toEqual(
      wanted,
    )
    expect(decisionsOf(planned)).toEqual(Object.fromEntries(Object.values(wanted).map((word) => [word, 1])))
    await cancel(taken.operation.id)
  })

  it('in a process without the handlers can’t know their schemas: where they are, it is asked before a letter is sent', async () => {
    const { app } = await refusing()
    await using _ = app
    await app.publish('form.sent', { amount: 'much' })
    await app.settled()
    const { transport, store } = app
    const clerk = await createOffice({
      transport,
      store: store as Parameters<typeof createOffice>[0]['store'],
      tools: {
        clock: app.clock,
        dice: { next: () => 0, uuid: () => crypto.randomUUID() },
        journal: () => {},
      },
    })
    const planned = await clerk.operations.plan({ type: 'form.sent' })
    expect(decisionsOf(planned)).toEqual({ replay: 1 })
    await clerk.operations.start(planned.operation.id)
    // the app's own office goes on with it
    await app.clock.advance(5000)
    const done = await app.office.operations.show(planned.operation.id)
    expect(done).toMatchObject({ operation: { state: 'done' }, reasons: { 'invalid schema': 1 } })
    expect(await app.office.count({ states: ['open'] })).toBe(1)
    await app.clock.runUntil(clerk.close())
  })
})
