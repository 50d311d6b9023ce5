import { describe, expect, it } from 'vitest'
import { reprieve } from '../../src/index.ts'
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
    const paused = await cli(['pause', 'mail', '--by', 'ann'], { cwd })
    expect(paused).toMatchObject({ code: 0, stdout: 'mail pauses; `reprieve resume mail` ends it\n' })
    await run.said('paused     mail')
    await cli(['publish', 'order.placed', '{}', '--id', 'e-1'], { cwd })
    expect((await cli(['resume', 'mail'], { cwd })).stdout).toBe('mail goes on\n')
    await run.said('resumed    mail')
    await run.said('done       mail  order.placed  e-1')
    expect(run.soFar().indexOf('resumed')).toBeLessThan(run.soFar().indexOf('done'))

    await cli(['breaker', 'open', 'crm'], { cwd })
    await run.said('breaker    crm  closed → forced open')
    const listed = await cli(['breaker', 'list'], { cwd })
    expect(listed.stdout).toMatch(/^breaker +state .*\ncrm +forced open /)
    await cli(['breaker', 'release', 'crm'], { cwd })
    await run.said('breaker    crm  forced open → closed')
    expect((await cli(['pause'], { cwd })).code).toBe(2)
    run.signal('SIGTERM')
    expect((await run.ended).code).toBe(0)
  })
})
