import { expect, it } from 'vitest'
import type { Fact } from '../../src/contracts/journal.ts'
import type { LetterFilter } from '../../src/contracts/letters.ts'
import { testApp } from '../../src/testing/index.ts'

const MINUTE = 60_000
const YAML = `
version: 1
policies:
  brief: { backoff: fixed, delay: 1s, jitter: none, retries: 2 }
dependencies:
  bank: { breaker: { failures: 5, open: 30s, probes: 1 } }
operations:
  approval: { above: 20 }
  canary: { size: 5, wait: 2m, deaths: 20% }
  reentry: 2
services:
  payment-svc:
    policy: brief
    criticality: critical
    alerts: { depth: { from: 20, severity: critical } }
    events:
      payment.booked: { dependencies: [bank] }
  mail-svc: { policy: brief }
`
const PAYMENTS = 40
const COMMAS = "amount: expected a number, got '12,50'"

it('the operator’s hour: outage, causes, fix, dry run, approval, a canary that fails, repair, ramp, audit', async () => {
  await using app = await testApp({ yaml: YAML, watch: true })
  const { office, clock } = app
  const { operations } = office
  let bankIsUp = false
  const booked: number[] = []
  app.service('payment-svc').on('payment.booked', async (event, ctx) => {
    const { n, amount } = event.data as { n: number; amount: unknown }
    await ctx.call('bank', async () => {
      if (!bankIsUp) throw Object.assign(new Error('connect ECONNREFUSED bank:443'), { code: 'ECONNREFUSED' })
    })
    // what nobody saw while the bank was gone: some shop writes amounts with commas
    if (typeof amount !== 'number') throw Object.assign(new Error(COMMAS), { status: 422 })
    booked.push(n)
  })
  app.service('mail-svc').on('task.created', () => {
    throw Object.assign(new Error('no such box'), { status: 422 })
  })

  // 02:50, the bank is gone. Payments die after their attempts; a few mails die of something else.
  for (let n = 0; n < PAYMENTS; n++)
    await app.publish('payment.booked', { n, amount: n % 2 === 0 ? '12,50' : 12.5 })
  for (let n = 0; n < 3; n++) await app.publish('task.created', { n })
  await app.settled({ most: 120 * MINUTE })
  await clock.advance(3 * MINUTE)

  // an alert; two causes, the critical one first; the breaker has opened
  const alerts = await app.watch.alerts()
  expect(alerts.raised).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ metric: 'breakerOpen', of: 'bank' }),
      expect.objectContaining({ metric: 'depth', of: 'payment-svc', last: PAYMENTS, limit: 20 }),
    ]),
  )
  const causes = await office.groups()
  expect(causes).toMatchObject([
    { services: ['payment-svc'], open: PAYMENTS, isNew: true, codes: ['ECONNREFUSED'] },
    { services: ['mail-svc'], open: 3 },
  ])
  const group = causes[0]!.fingerprint
  const changes = app.facts.filter((fact): fact is Fact & { is: 'breaker' } => fact.is === 'breaker')
  expect(changes.map(({ to }) => to)).toContain('open')

  // ann is on it, and keeps everybody from calling the bank; a dry run says that now is no time
  const ask = (filter: LetterFilter, reason: string) =>
    clock.runUntil(operations.plan(filter, {}, { as: 'ann', reason }))
  await office.tend(group, { owner: 'ann', ticket: 'OPS-7' }, { as: 'ann' })
  await app.hand.breaker('bank', 'open', { by: 'ann', reason: 'they asked for it' })
  await clock.advance(2000)
  const early = await ask({ fingerprint: group }, 'is it time?')
  expect(early.counts).toMatchObject({ waiting: 0, skipped: PAYMENTS })
  const [item] = await operations.items(early.operation.id, { limit: 1 })
  expect(item).toMatchObject({ state: 'skipped', because: 'downstream unhealthy' })
  await clock.runUntil(operations.cancel(early.operation.id, { as: 'ann' }))

  // 03:20, the bank is back. It is many: someone else must approve, and approves this very set.
  bankIsUp = true
  await app.hand.breaker('bank', 'closed', { by: 'ann', reason: 'they are back' })
  await clock.advance(2000)
  const plan = await ask({ fingerprint: group }, 'the bank is back')
  const { id: first, hash } = plan.operation
  expect(plan.operation.state).toBe('needs approval')
  expect(plan.counts).toMatchObject({ waiting: PAYMENTS, skipped: 0 })
  await expect(operations.approve(first, { as: 'ann' })).rejects.toThrow()
  await clock.runUntil(operations.approve(first, { as: 'bob', hash: hash! }))
  await clock.advance(5 * MINUTE)

  // the canary fails. It stops by itself, and most letters never left.
  const stopped = await operations.show(first)
  expect(stopped.operation).toMatchObject({ state: 'stopped', because: expect.any(String) })
  expect(stopped.counts).toMatchObject({ waiting: PAYMENTS - 5 })
  expect(stopped.counts['dead again']).toBeGreaterThan(1)
  const [anew] = (await office.groups()).filter(({ error }) => error === COMMAS)
  expect(anew).toMatchObject({ open: stopped.counts['dead again'], isNew: true })

  // 03:30, what has a comma is repaired, those that died again and those that never left alike
  const commas = { service: 'payment-svc', states: ['open'], where: '$.amount = "12,50"' } as const
  const repaired = await clock.runUntil(
    office.repair(commas, { set: { '$.amount': 12.5 } }, { as: 'ann', reason: 'a shop writes commas' }),
  )
  expect(repaired.repaired).toHaveLength(PAYMENTS / 2)
  expect(repaired.skipped).toEqual([])

  // the canary passes, and the rest follows
  const again = await ask({ service: 'payment-svc', states: ['open'] }, 'commas are repaired')
  expect(again.operation.state).toBe('needs approval')
  await clock.runUntil(operations.approve(again.operation.id, { as: 'bob' }))
  await clock.advance(10 * MINUTE)
  await app.settled({ most: 60 * MINUTE })
  await clock.advance(MINUTE)

  // 03:50, done: every payment was booked once, and nobody's mails were touched
  const done = await operations.show(again.operation.id)
  expect(done.operation.state).toBe('done')
  expect(done.counts).toMatchObject({ waiting: 0, sent: 0, failed: 0, 'dead again': 0 })
  expect(booked.toSorted((a, b) => a - b)).toEqual(Array.from({ length: PAYMENTS }, (_, n) => n))
  expect(await office.stats()).toMatchObject({ open: 3, subscriptions: [{ service: 'mail-svc' }] })
  await clock.advance(20 * MINUTE)
  const after = await app.watch.alerts()
  expect(after.raised).toEqual([])
  expect(after.ended.map(({ metric }) => metric)).toEqual(expect.arrayContaining(['breakerOpen', 'depth']))

  // and later: who did what?
  expect(await clock.runUntil(app.audit.verify())).not.toHaveProperty('broken')
  const acts = (await app.audit.list({}, 500)).map(({ who, act }) => `${who}: ${act}`)
  for (const act of ['tend', 'breaker open', 'breaker close', 'operation stop', 'repair', 'replay'])
    expect(acts).toContain(`ann: ${act}`)
  expect(acts.filter((act) => act === 'bob: operation approve')).toHaveLength(2)
})
