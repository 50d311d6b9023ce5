import { describe, expect, it } from 'vitest'
import { Permanent } from '../core/errors.ts'
import { memoryTx, type TestAppOptions, testApp } from '../testing/index.ts'

const YAML = `version: 1
policies: { quick: { backoff: fixed, delay: 1s, jitter: none, retries: 2 } }
defaults: { policy: quick, idempotency: { pattern: transaction } }`

interface Rows {
  readonly rows: string[]
}

const open = async (options: TestAppOptions = {}) => {
  const table: Rows = { rows: [] }
  const app = await testApp({ yaml: YAML, tx: memoryTx(table), ...options })
  return { app, table }
}

describe('ctx.tx', () => {
  it('answers with what its function does, and a second copy of the event changes nothing', async () => {
    const { app, table } = await open()
    const values: unknown[] = []
    app.service('s').on('a', async (event, ctx) => {
      values.push(await ctx.tx((client: Rows) => client.rows.push(event.id)))
    })
    await app.publish('a', { n: 1 }, { id: 'one' })
    await app.settled()
    await app.publish('a', { n: 1 }, { id: 'one' })
    await app.settled()
    expect(table.rows).toEqual(['one'])
    expect(values).toEqual([1])
    await app.close()
  })

  it('publishes what was published inside, with the correlation, and only then', async () => {
    const { app } = await open()
    const seen: unknown[] = []
    app
      .service('s')
      .on('a', async (_, ctx) => {
        await ctx.tx(async () => void (await ctx.publish('b', { attempt: ctx.attempt })))
      })
      .on('b', (event, ctx) =>
        ctx.tx(() => void seen.push([event.data, event.source, event.extensions.correlationid])),
      )
    await app.publish('a', {}, { id: 'one' })
    await app.settled()
    expect(seen).toEqual([[{ attempt: 1 }, 's', 'one']])
    await app.close()
  })

  it('keeps nothing of a function that throws, and tries it again', async () => {
    const { app } = await open()
    const seen: unknown[] = []
    app
      .service('s')
      .on('a', async (_, ctx) => {
        await ctx.tx(async () => {
          await ctx.publish('b', { attempt: ctx.attempt })
          if (ctx.attempt === 1) throw new Error('not yet')
        })
      })
      .on('b', (event, ctx) => ctx.tx(() => void seen.push(event.data)))
    await app.publish('a')
    await app.settled()
    expect(seen).toEqual([{ attempt: 2 }])
    await app.close()
  })

  it('of the same id with another payload is a conflict, and buried as such', async () => {
    const { app, table } = await open()
    app.service('s').on('a', (event, ctx) => ctx.tx((client: Rows) => void client.rows.push(event.id)))
    await app.publish('a', { n: 1 }, { id: 'one' })
    await app.settled()
    await app.publish('a', { n: 2 }, { id: 'one' })
    await app.settled()
    expect(table.rows).toEqual(['one'])
    expect((await app.office.list({}, 10)).map(({ letter }) => letter.reason)).toEqual(['conflict'])
    await app.close()
  })

  it('ends the event: what fails after the commit is told, and not tried again', async () => {
    const { app, table } = await open()
    app.service('s').on('a', async (event, ctx) => {
      await ctx.tx((client: Rows) => void client.rows.push(event.id))
      throw new Error('the mail was not sent')
    })
    await app.publish('a', {}, { id: 'one' })
    await app.settled()
    expect(table.rows).toEqual(['one'])
    app.expectDone({ event: 'one' })
    await app.close()
  })

  it.each<[string, string, (ctx: never) => unknown]>([
    [
      'called twice',
      'ctx.tx was called twice in one attempt',
      async (ctx: { tx(fn: () => void): Promise<void> }) => {
        await ctx
          .tx(() => {
            throw new Error('once')
          })
          .catch(() => {})
        await ctx.tx(() => {})
      },
    ] as never,
    [
      'not awaited',
      'the handler ended before its transaction, which was undone',
      (ctx: { tx(fn: () => Promise<void>): Promise<void> }) =>
        void ctx.tx(() => new Promise((resolve) => resolve())),
    ] as never,
  ])('%s is a mistake that is buried with its reason', async (_, message, handle) => {
    const { app } = await open()
    app.service('s').on('a', (_, ctx) => handle(ctx as never) as never)
    await app.publish('a')
    await app.settled()
    const [kept] = await app.office.list({}, 10)
    expect(kept?.letter.error).toContain(message)
    await app.close()
  })

  it('refuses to publish after the commit, which would be lost by a crash', async () => {
    const { app } = await open()
    let refused: unknown
    app.service('s').on('a', async (_, ctx) => {
      await ctx.tx(() => {})
      await ctx.publish('a').catch((error) => {
        refused = error
      })
    })
    await app.publish('a')
    await app.settled()
    expect(refused).toMatchObject({ code: 'bad_usage' })
    await app.close()
  })

  it('whose time is over publishes nothing any more, though its function goes on', async () => {
    const table: Rows = { rows: [] }
    const kept = memoryTx(table)
    // as on PostgreSQL: the server ends it at once, whatever the function waits for
    const run: typeof kept.run = (work, signal) =>
      Promise.race([
        kept.run(work, signal),
        new Promise<never>((_, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
        ),
      ])
    const { app } = await open({ tx: { ...kept, run }, yaml: `${YAML}\nservices: { s: { timeout: 1s } }` })
    const late = Promise.withResolvers<void>()
    const seen: unknown[] = []
    let refused: unknown
    app
      .service('s')
      .on('a', (_, ctx) =>
        ctx.tx(async () => {
          if (ctx.attempt > 1) return
          await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve, { once: true }))
          await late.promise
          await ctx.publish('b').catch((error) => {
            refused = error
          })
        }),
      )
      .on('b', (event) => void seen.push(event.id))
    await app.publish('a')
    await app.clock.advance(1000)
    late.resolve()
    await app.settled()
    expect(refused).toMatchObject({ name: 'Timeout' })
    expect(seen).toEqual([])
    await app.close()
  })

  it('that a handler forgets is told, once', async () => {
    const notices: string[] = []
    const { app } = await open()
    app.service('s').on('a', () => {})
    await app.publish('a')
    await app.publish('a')
    await app.settled()
    for (const fact of app.facts) if (fact.is === 'notice') notices.push(fact.text)
    expect(notices).toEqual([expect.stringContaining('its handler for a ended without ctx.tx')])
    await app.close()
  })

  it('protects a replay: what was committed in the meantime is acknowledged, and the office hears so', async () => {
    const { app, table } = await open()
    let broken = true
    app.service('s').on('a', (event, ctx) => {
      if (broken) throw new Permanent('a defect')
      return ctx.tx((client: Rows) => void client.rows.push(event.id))
    })
    await app.publish('a', {}, { id: 'one' })
    await app.settled()
    broken = false
    await app.publish('a', {}, { id: 'one' })
    await app.settled()
    const [kept] = await app.office.list({}, 1)
    await app.office.replay({ ids: [kept!.letter.id] })
    await app.settled()
    expect(table.rows).toEqual(['one'])
    expect((await app.office.list({}, 1))[0]?.state).toBe('resolved')
    await app.close()
  })

  it('without a database is refused, and rules that ask for one refuse to start', async () => {
    const app = await testApp({ yaml: YAML })
    app.service('s').on('a', (_, ctx) => ctx.tx(() => {}))
    await expect(app.start()).rejects.toMatchObject({
      code: 'bad_rules',
      fix: expect.stringMatching('postgresTx'),
    })
    const plain = await testApp()
    plain.service('s').on('a', (_, ctx) => ctx.tx(() => {}))
    await plain.publish('a')
    await plain.settled()
    const [kept] = await plain.office.list({}, 10)
    expect(kept?.letter.error).toContain('the app has no database to begin a transaction in')
    await plain.close()
  })
})

describe('the relay', () => {
  it('waits out a broker that is down, and keeps the order', async () => {
    const { app } = await open()
    const seen: unknown[] = []
    app
      .service('s')
      .on('a', (_, ctx) =>
        ctx.tx(async () => {
          for (let n = 0; n < 5; n++) await ctx.publish('b', n, { orderKey: 'k' })
          app.faults.down('publish')
        }),
      )
      .on('b', (event, ctx) => ctx.tx(() => void seen.push(event.data)))
    await app.publish('a')
    await app.clock.advance(60_000)
    expect(seen).toEqual([])
    app.faults.mend('publish')
    await app.settled()
    expect(seen).toEqual([0, 1, 2, 3, 4])
    await app.close()
  })

  it('publishes again what it can not know to be published, under the same id', async () => {
    const { app, table } = await open()
    app
      .service('s')
      .on('a', (_, ctx) => {
        app.faults.plan('publish', 'answer lost')
        return ctx.tx(() => void ctx.publish('b'))
      })
      .on('b', (event, ctx) => ctx.tx((client: Rows) => void client.rows.push(event.id)))
    await app.publish('a')
    await app.settled()
    expect(app.faults.count('publish')).toBe(1)
    expect(table.rows).toHaveLength(1)
    await app.close()
  })

  it('lets others pass one that nobody wants', async () => {
    const { app } = await open()
    const seen: unknown[] = []
    app
      .service('s')
      .on('a', (_, ctx) =>
        ctx.tx(async () => {
          await ctx.publish('nobody')
          await ctx.publish('b', 'heard')
        }),
      )
      .on('b', (event, ctx) => ctx.tx(() => void seen.push(event.data)))
    await app.publish('a')
    await app.clock.advance(5000)
    expect(seen).toEqual(['heard'])
    await app.close()
  })
})
