import { describe, expect, it } from 'vitest'
import { open } from '../../src/adapters/memory/index.ts'
import type { Groups } from '../../src/contracts/groups.ts'
import { Permanent, reprieve } from '../../src/index.ts'
import { createOffice } from '../../src/office/index.ts'
import { testApp } from '../../src/testing/index.ts'
import { sampleLetters } from '../../src/testing/letters.ts'
import { testTools } from '../../src/testing/tools.ts'

const HOUR = 60 * 60_000
const YAML = `
version: 1
services:
  pay-svc: { criticality: critical }
  mail-svc: { criticality: low }
`

describe('the office, looking for causes', () => {
  it('groups what failed alike, the critical cause first, and hears when one comes back', async () => {
    await using app = await testApp({ yaml: YAML })
    let broken = true
    const refuse = (message: string) => (): void => {
      if (broken) throw new Permanent(message)
    }
    let n = 0
    app.service('mail-svc').on('task.created', () => refuse(`no box for task-${n++}`)())
    app.service('pay-svc').on('payment.booked', refuse('no such account'))
    for (let i = 0; i < 6; i++) await app.publish('task.created', { i })
    for (let i = 0; i < 3; i++) await app.publish('payment.booked', { i, amount: i * 100 })
    await app.settled()

    const { office } = app
    expect(await office.groups()).toMatchObject([
      { services: ['pay-svc'], criticality: 'critical', open: 3, growth: 3, isNew: true },
      { services: ['mail-svc'], criticality: 'low', open: 6, growth: 6, isNew: true },
    ])
    const [pay] = await office.groups({ service: 'pay-svc' })
    const group = pay!.fingerprint
    expect(await office.tend(group.slice(0, 6), { owner: 'ann', snooze: '2h' })).toMatchObject({
      ...{ owner: 'ann', isNew: false, snoozed: true },
    })
    expect(await app.audit.list()).toMatchObject([{ act: 'tend', target: `group ${group}`, count: 1 }])
    expect((await office.groups()).map(({ services }) => services[0])).toEqual(['mail-svc', 'pay-svc'])
    expect(await office.find({ fingerprint: group, where: '$.amount >= 100' })).toMatchObject({
      ...{ count: 2, whole: true, letters: [{ state: 'open' }, { state: 'open' }] },
    })
    const first = await office.find({}, { limit: 4 })
    const second = await office.find({}, { limit: 5, after: first.next! })
    expect(first.letters.length + second.letters.length).toBe(9)
    expect(second.next).toBeUndefined()

    broken = false
    await office.replay({ fingerprint: group })
    await app.settled()
    expect((await office.groups()).map(({ services }) => services[0])).toEqual(['mail-svc'])
    expect(await office.group(group)).toMatchObject({ open: 0, states: { resolved: 3 }, regressed: false })

    broken = true
    await app.clock.advance(3 * HOUR)
    await app.publish('payment.booked', { i: 9 })
    await app.settled()
    expect((await office.groups())[0]).toMatchObject({
      ...{ fingerprint: group, open: 1, total: 4, regressed: true, isNew: false, owner: 'ann' },
      ...{ snoozed: false, lastHour: 1, hourBefore: 0 },
    })
    expect(await office.stats()).toMatchObject({
      ...{ open: 7, total: 10, lastHour: 1, hourBefore: 0 },
      groups: { open: 2, isNew: 1, regressed: 1, unowned: 1 },
      subscriptions: [
        { service: 'mail-svc', open: 6 },
        { service: 'pay-svc', open: 1 },
      ],
    })
    await expect(office.group('f1-zz')).rejects.toMatchObject({ code: 'unknown_group' })
    await expect(office.tend('f1-', { owner: 'bob' })).rejects.toThrow(/several groups/)
    await expect(office.tend(group, { snooze: 'long' })).rejects.toThrow(/'long' is not a duration/)
  })

  it('passes quarantine by until a letter is released on purpose', async () => {
    const tools = testTools()
    const { transport, store } = await open('memory:', tools)
    const office = await createOffice({ transport, store, tools })
    const [poison] = sampleLetters(1, tools.clock.now(), () => ({ reason: 'poison' }))
    await store.letters.keep([poison!])
    expect(await office.replay({})).toEqual({ sent: [], skipped: [] })
    expect(await office.replay({ ids: [poison!.id] })).toEqual({
      ...{ sent: [], skipped: [{ id: poison!.id, because: 'it is quarantined' }] },
    })
    const wanted = { released: [poison!.id], skipped: [{ id: 'nobody', because: 'no letter has this id' }] }
    await expect(office.release([poison!.id], { reason: ' ' })).rejects.toMatchObject({ code: 'bad_usage' })
    expect(await office.release([poison!.id, 'nobody'], { reason: 'mended' })).toEqual(wanted)
    expect((await store.audit.recent(1))[0]).toMatchObject({ act: 'release', count: 1, reason: 'mended' })
    expect(tools.facts.at(-1)).toMatchObject({ is: 'released', letter: poison!.id, reason: 'mended' })
    expect(await office.show(poison!.id)).toMatchObject({ state: 'open' })
    await office.close()
  })

  /** An app with its jobs, some letters of an older version's group, and nothing that happens by itself but those. */
  const regrouping = async (fingerprint = 'f0-1', count = 3) => {
    const tools = testTools()
    const app = await reprieve({ transport: 'memory:', ...tools })
    await tools.clock.runUntil(app.start())
    const now = tools.clock.now()
    const { fingerprint: ours } = sampleLetters(1, now)[0]!
    let times = 0
    const arrive = (at = fingerprint) => {
      times++
      const named = (n: number) => ({ id: `l-${times}-${n}`, fingerprint: at })
      return app.store.letters!.keep(sampleLetters(count, tools.clock.now(), named))
    }
    const groups = async () =>
      Object.fromEntries(
        (await app.office.groups({ all: true })).map((each) => [each.fingerprint, each.open]),
      )
    const close = () => tools.clock.runUntil(app.close())
    return { ...tools, app, ours, arrive, groups, close }
  }
  const MINUTE = 60_000

  it('groups anew what an older version grouped, whenever it comes, in one of the processes', async () => {
    const { app, clock, ours, arrive, groups, facts, close } = await regrouping('f0-1', 450)
    await arrive()
    await app.office.tend('f0-1', { owner: 'ann' })
    await clock.advance(2 * MINUTE)
    expect(await app.office.groups({ all: true })).toMatchObject([
      { fingerprint: ours, open: 450, owner: 'ann' },
    ])
    // long after it was opened: of a worker that was not renewed, of a file, or one whose fingerprint could not be read
    await arrive()
    await arrive('unread')
    expect(await groups()).toEqual({ [ours]: 450, 'f0-1': 450, unread: 450 })
    await clock.advance(2 * MINUTE)
    expect(await groups()).toEqual({ [ours]: 1350 })
    expect(await app.office.regroup()).toBe(0)
    const told = facts.flatMap((fact) => (fact.is === 'notice' ? fact.text : []))
    expect(told).toEqual(['grouped anew: 450 letters', 'grouped anew: 900 letters'])
    await close()
  })

  it('leaves what a newer version grouped, so that two versions don’t move letters to and fro', async () => {
    const { app, clock, ours, arrive, groups, close } = await regrouping()
    await arrive(ours)
    await arrive('f2-1')
    await clock.advance(2 * MINUTE)
    expect(await groups()).toEqual({ [ours]: 3, 'f2-1': 3 })
    // as the office of the newer version does
    await app.store.letters!.groups.regroup(ours, () => 'f2-1', 100)
    await arrive()
    await clock.advance(3 * MINUTE)
    expect(await groups()).toEqual({ [ours]: 3, 'f2-1': 6 })
    await close()
  })

  it('tries again to group them anew after the store refused it', async () => {
    const { app, clock, ours, arrive, groups, facts, close } = await regrouping()
    const kept = app.store.letters!.groups as { regroup: Groups['regroup'] }
    const { regroup } = kept
    kept.regroup = () => Promise.reject(new Error('the disk is full'))
    await arrive()
    await clock.advance(2 * MINUTE)
    expect(facts).toContainEqual(expect.objectContaining({ is: 'trouble', where: 'the job grouping' }))
    expect(await groups()).toEqual({ 'f0-1': 3 })
    kept.regroup = regroup
    await clock.advance(2 * MINUTE)
    expect(await groups()).toEqual({ [ours]: 3 })
    await close()
  })
})
