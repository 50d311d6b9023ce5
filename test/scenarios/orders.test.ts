import { describe, expect, it } from 'vitest'
import { reprieve, Transient } from '../../src/index.ts'
import { createHand } from '../../src/office/index.ts'
import { readRules } from '../../src/rules/index.ts'
import { testTools } from '../../src/testing/tools.ts'
import { cli, folderWith, startCli } from './child.ts'

const BOOK = `version: 1
dependencies: { crm: { breaker: { failures: 3, open: 30s } } }
services: { mail: { events: { order.placed: { dependencies: [crm] } } } }
`

const world = async () => {
  const tools = testTools()
  const app = await reprieve({ rules: readRules(BOOK, 'reprieve.yaml', {}), transport: 'memory:', ...tools })
  const only = (is: string) => tools.facts.filter((fact) => fact.is === is)
  let calls = 0
  for (const service of ['mail', 'other']) {
    app.service(service).on('order.placed', async (_, ctx) => {
      await ctx.call(service === 'mail' ? 'crm' : 'else', () => void calls++)
    })
  }
  const hand = createHand(app.store.board, tools.clock.now)
  const close = () => tools.clock.runUntil(app.close())
  const doneBy = (name: string) =>
    only('done').filter((fact) => 'event' in fact && fact.service === name).length
  return { app, only, close, hand, doneBy, calls: () => calls, ...tools }
}

describe('an operator’s hand', () => {
  it('pauses one service at once, though it waits for an event, and lets it go on', async () => {
    const { app, clock, hand, doneBy, only, close } = await world()
    await app.start()
    await app.publish('order.placed', {})
    await clock.advance(2000)
    await hand.pause('mail', { by: 'ann' })
    await clock.advance(2000)
    expect(only('paused')).toMatchObject([{ service: 'mail' }])
    for (let n = 0; n < 5; n++) await app.publish('order.placed', { n })
    await clock.advance(60_000)
    expect([doneBy('mail'), doneBy('other')]).toEqual([1, 6])
    expect(await hand.paused()).toMatchObject([{ service: 'mail', by: 'ann' }])
    await hand.resume('mail')
    await clock.advance(3000)
    expect(doneBy('mail')).toBe(6)
    expect(only('resumed')).toHaveLength(1)
    await close()
  })

  it('an order ends by itself', async () => {
    const { app, clock, hand, doneBy, close } = await world()
    await hand.pause('mail', { lasts: 10_000 })
    await app.start()
    await clock.advance(1)
    await app.publish('order.placed', {})
    await clock.advance(9000)
    expect(doneBy('mail')).toBe(0)
    await clock.advance(4000)
    expect(doneBy('mail')).toBe(1)
    await close()
  })

  it('forces a breaker open: nothing is called and nothing is spent until it is released', async () => {
    const { app, clock, hand, doneBy, calls, close } = await world()
    await hand.breaker('crm', 'open', { by: 'ann' })
    await app.start()
    await clock.advance(1)
    await app.publish('order.placed', {})
    await clock.advance(5 * 60_000)
    expect([doneBy('mail'), doneBy('other'), calls()]).toEqual([0, 1, 1])
    expect(await hand.breakers()).toMatchObject([
      { name: 'crm', report: { state: 'forced open' }, forced: { to: 'open', by: 'ann' } },
      { name: 'else', report: { state: 'closed', calls: 1 } },
    ])
    await hand.breaker('crm', 'release')
    await clock.advance(60_000)
    expect(doneBy('mail')).toBe(1)
    await close()
  })

  it('shows since when a breaker stands as it does, who tripped it, and what it has counted', async () => {
    const { app, clock, hand, close } = await world()
    app.service('third').on('order.rated', async (_, ctx) => {
      await ctx.call('crm', () => Promise.reject(new Transient('crm is down')))
    })
    await app.start()
    await clock.advance(60_000)
    const before = clock.now()
    for (let n = 0; n < 3; n++) await app.publish('order.rated', {})
    await clock.advance(20_000)
    const { whole, report } = (await hand.breakers()).find(({ name }) => name === 'crm')!
    expect(report).toMatchObject({
      state: 'open',
      quorum: 1,
      calls: 3,
      successes: 0,
      failures: 3,
      transitions: 1,
    })
    expect(report!.since - before).toBeLessThan(1000)
    expect(whole).toMatchObject({ state: 'open', tripped: [{ process: report!.process }] })
    expect(whole!.tripped[0]!.at - before).toBeLessThan(1000)
    await close()
  })

  it('reports of a process that is gone run out', async () => {
    const { app, clock, hand, close } = await world()
    await app.start()
    await app.publish('order.placed', {})
    await clock.advance(2000)
    expect(await hand.breakers()).toHaveLength(2)
    await clock.runUntil(app.drain())
    await clock.advance(31_000)
    expect(await hand.breakers()).toEqual([])
    await close()
  })
})

describe('the commands', () => {
  it('reach a running service of another process', async () => {
    const cwd = folderWith({
      'reprieve.yaml': BOOK,
      'handlers.ts': `export default (app) => {
  app.service('mail').on('order.placed', async (event, ctx) => ctx.call('crm', () => {}))
}
`,
    })
    const run = startCli(['run', 'handlers.ts'], { cwd })
    await run.said('started    mail')
    const paused = await cli(['pause', 'mail', '--as', 'ann'], { cwd })
    expect(paused).toMatchObject({ code: 0, stdout: 'mail pauses; `reprieve resume mail` ends it\n' })
    await run.said('paused     mail')
    await cli(['publish', 'order.placed', '{}', '--id', 'e-1'], { cwd })
    expect((await cli(['resume', 'mail'], { cwd })).stdout).toBe('mail goes on\n')
    await run.said('resumed    mail')
    await run.said('done       mail  order.placed  e-1')
    expect(run.soFar().indexOf('resumed')).toBeLessThan(run.soFar().indexOf('done'))

    const slip = await cli(['breaker', 'open', 'cmr', '--for', '1s'], { cwd })
    expect(slip.stderr).toContain('no process has asked a breaker cmr lately; those that were: crm\n')
    expect(await cli(['breaker', 'open', 'crm'], { cwd })).toMatchObject({ code: 0, stderr: '' })
    await run.said('breaker    crm  closed → forced open')
    const listed = await cli(['breaker', 'list'], { cwd })
    expect(listed.stdout).toMatch(/^breaker +state /)
    // the slip may still be listed above it
    expect(listed.stdout).toMatch(/^crm +forced open /m)
    await cli(['breaker', 'release', 'crm'], { cwd })
    await run.said('breaker    crm  forced open → closed')
    expect(listed.stdout).toContain('over all')
    expect((await cli(['pause'], { cwd })).code).toBe(2)
    const unknown = await cli(['pause', 'mial'], { cwd })
    expect(unknown).toMatchObject({ code: 2, stdout: '' })
    expect(unknown.stderr).toContain('no process runs mial')
    expect(unknown.stderr).toContain('name one of mail; or pause it all the same with --force')
    const forced = await cli(['pause', 'mial', '--force', '--for', '1s'], { cwd })
    expect(forced.code).toBe(0)
    expect(forced.stderr).toContain('nobody runs mial now: it will pause when it starts')
    run.signal('SIGTERM')
    expect((await run.ended).code).toBe(0)
  })
})
