import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'amqplib'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { systemDice } from '../../src/adapters/system/dice.ts'
import { type Fact, type KeptLetter, Permanent, reprieve } from '../../src/index.ts'
import { readRules } from '../../src/rules/index.ts'
import { testApp } from '../../src/testing/index.ts'
import { describeWith } from '../services/urls.ts'
import { until } from '../until.ts'

const folder = mkdtempSync(join(tmpdir(), 'reprieve-repair-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const dice = systemDice()
const unique = (what: string) => `${what}-${dice.uuid().slice(-12)}`

interface Paid {
  readonly amount: unknown
  readonly tenant?: string | undefined
}

/** A service that takes numbers only, on this transport and with ids remembered in this ledger. */
const shop = async (transport: string, more = '') => {
  const service = unique('pay')
  const type = `${service}.booked`
  const facts: Fact[] = []
  const app = await reprieve({
    rules: readRules(`version: 1\n${more}`, 'test.yaml'),
    transport,
    store: `sqlite:${join(folder, `${service}.db`)}`,
    journal: (fact) => facts.push(fact),
  })
  const paid: Paid[] = []
  app.service(service).on(type, ({ data, headers }) => {
    if (typeof data.amount !== 'number') throw new Permanent(`amount: expected a number, got ${data.amount}`)
    paid.push({ amount: data.amount, tenant: headers['x-tenant'] })
  })
  await app.start()
  const letterIn = (state: KeptLetter['state']): Promise<KeptLetter> =>
    until(
      `a letter that is ${state}`,
      async () => (await app.office.list({ service, states: [state] }, 1))[0],
    )
  return { app, service, type, paid, facts, letterIn }
}

const repairedAndReplayed = async ({ app, type, paid, letterIn }: Awaited<ReturnType<typeof shop>>) => {
  const id = await app.publish(type, { amount: '12,50', note: 'x' })
  const died = await letterIn('open')
  const change = { set: { '$.amount': 12.5 }, headers: { 'x-tenant': 'acme' } }
  const result = await app.office.repair([died.letter.id], change, { as: 'ann', reason: 'a comma' })
  expect(result).toMatchObject({ repaired: [died.letter.id], skipped: [] })
  await app.office.replay({ ids: [died.letter.id] })
  const ended = await letterIn('resolved')
  expect(paid).toEqual([{ amount: 12.5, tenant: 'acme' }])
  // the original is as it died
  expect(Buffer.from(ended.letter.event.data!).toString()).toBe('{"amount":"12,50","note":"x"}')
  expect(ended.letter.event.id).toBe(id)
  expect(ended.repair).toMatchObject({ version: 1, who: 'ann', reason: 'a comma' })
  return { id, died }
}

/** The id is done now: neither the original nor a stranger with it has an effect again. */
const staysDone = async (
  { app, type, paid, facts }: Awaited<ReturnType<typeof shop>>,
  id: string,
): Promise<void> => {
  await app.publishEvents([
    {
      id,
      source: '/again',
      type,
      extensions: {},
      headers: {},
      datacontenttype: 'application/json',
      data: Buffer.from('{"amount":1}'),
    },
  ])
  await until('the stranger', () => facts.find((fact) => fact.is === 'dead' && fact.reason === 'conflict'))
  expect(paid.length).toBe(1)
}

describe('a repaired letter', () => {
  it('is replayed as it was repaired, under its own id, on SQLite', async () => {
    const at = await shop(`sqlite:${join(folder, `${unique('t')}.db`)}`)
    await using _ = at.app
    const { id } = await repairedAndReplayed(at)
    await staysDone(at, id)
  })

  it('that dies again is a new letter with both lives told, and can be repaired again', async () => {
    const at = await shop(`sqlite:${join(folder, `${unique('t')}.db`)}`)
    await using app = at.app
    await app.publish(at.type, { amount: 'a lot' })
    const first = await at.letterIn('open')
    await app.office.repair([first.letter.id], { set: { '$.amount': 'less' } })
    await app.office.replay({ ids: [first.letter.id] })
    await at.letterIn('dead again')
    const second = await at.letterIn('open')
    expect(Buffer.from(second.letter.event.data!).toString()).toBe('{"amount":"less"}')
    for (const each of [first, second]) {
      const { lives } = await app.office.lives(each)
      expect(lives).toMatchObject([
        { id: first.letter.id, generation: 0, state: 'dead again' },
        { id: second.letter.id, generation: 1, state: 'open' },
      ])
    }
    await app.office.repair([second.letter.id], { set: { '$.amount': 3 } })
    await app.office.replay({ ids: [second.letter.id] })
    await at.letterIn('resolved')
    expect(at.paid.map(({ amount }) => amount)).toEqual([3])
  })

  it('can go back to any version, and all of them are kept', async () => {
    const at = await shop(`sqlite:${join(folder, `${unique('t')}.db`)}`)
    await using app = at.app
    await app.publish(at.type, { amount: 'a lot' })
    const { id } = (await at.letterIn('open')).letter
    await app.office.repair([id], { set: { '$.amount': 1 } })
    await app.office.repair([id], { set: { '$.amount': 2 } })
    await app.office.undo(id, 0, { as: 'ben' })
    await expect(app.office.undo(id, 9)).rejects.toThrow(/no earlier version 9/)
    const versions = await app.office.versions(id)
    expect(versions.map(({ version, differences }) => [version, differences])).toEqual([
      [1, [{ path: '$.amount', before: '"a lot"', after: '1' }]],
      [2, [{ path: '$.amount', before: '1', after: '2' }]],
      [3, [{ path: '$.amount', before: '2', after: '"a lot"' }]],
    ])
    expect(versions[0]!.before).toBe(versions[2]!.hash)
    await app.office.undo(id, 2)
    await app.office.replay({ ids: [id] })
    await at.letterIn('resolved')
    expect(at.paid).toMatchObject([{ amount: 2 }])
    const acts = await app.audit.list({ act: 'repair' })
    expect(acts.map(({ who, count }) => [who, count])).toContainEqual(['ben', 1])
    expect((await app.audit.verify()).broken).toBeUndefined()
  })
})

const withLedger = (name: 'redis' | 'postgres') =>
  describeWith(name, `a repaired letter whose id is remembered in ${name}`, (url) => {
    it('passes, and what is done stays done', async () => {
      const at = await shop(
        `sqlite:${join(folder, `${unique('t')}.db`)}`,
        `stores: { mine: '${url}' }\ndefaults: { idempotency: { pattern: dedup, store: mine } }`,
      )
      await using _ = at.app
      const { id } = await repairedAndReplayed(at)
      await staysDone(at, id)
    })
  })
withLedger('redis')
withLedger('postgres')

/** What the service leaves on RabbitMQ. */
const clearAway = async (url: string, service: string, topic: string): Promise<void> => {
  const connection = await connect(url)
  const channel = await connection.createChannel()
  const queue = `${service}.${topic}`
  for (const each of [queue, `_${service}.deadletter`, `_${service}.quarantine`])
    await channel.deleteQueue(each)
  await channel.deleteExchange(`${queue}.dlx`)
  await connection.close()
}

describeWith('amqp', 'a repaired letter on RabbitMQ', (url) => {
  it('is replayed as it was repaired, and what is done stays done', async () => {
    const at = await shop(url)
    onTestFinished(() => clearAway(url, at.service, at.type))
    await using _ = at.app
    const { id } = await repairedAndReplayed(at)
    await staysDone(at, id)
  })
})

describe('repairing many', () => {
  const Booked = z.object({ amount: z.number().max(100) })
  const many = async () => {
    const app = await testApp()
    app.service('pay').on('booked', Booked, () => {})
    for (let n = 0; n < 120; n++) await app.publish('booked', n % 3 === 0 ? { amount: `${n}` } : { sum: n })
    await app.settled()
    return app
  }

  it('shows what it would do, which letters it does not fit, and checks them by the schema', async () => {
    await using app = await many()
    const change = { rename: { '$.sum': '$.amount' } }
    const dry = await app.office.repair({ service: 'pay' }, change, { dryRun: true })
    expect(dry.repaired.length).toBe(67) // 80 have a sum, 13 of them over 100
    expect(dry.checked).toBe(67)
    expect(dry.differences[0]!.differences).toEqual([
      { path: '$.sum', before: expect.any(String) },
      { path: '$.amount', after: expect.any(String) },
    ])
    const reasons = Map.groupBy(dry.skipped, ({ because }) => because.slice(0, 24))
    expect([...reasons].map(([because, some]) => [because, some.length]).sort()).toEqual(
      [
        ['it would not fit its sche', 13],
        ['there is no $.sum', 40],
      ].map(([because, n]) => [String(because).slice(0, 24), n]),
    )
    expect((await app.office.list({ service: 'pay' }, 200)).every(({ repair }) => !repair)).toBe(true)
    expect(await app.audit.list({ act: 'repair' })).toEqual([])

    const done = await app.office.repair({ service: 'pay' }, change, { reason: 'renamed upstream' })
    expect(done.repaired.toSorted()).toEqual(dry.repaired.toSorted())
    const acts = await app.audit.list({ act: 'repair' })
    expect(acts.map(({ count }) => count).reduce((a, b) => a + b)).toBe(67)
    expect(acts[0]).toMatchObject({ reason: 'renamed upstream', details: { change, set: { count: 120 } } })

    // done again it passes by what was done, and a patch that would not be the same twice is not done twice
    const again = await app.office.repair({ service: 'pay' }, change)
    expect(again.repaired).toEqual([])
    await app.office.replay({ ids: done.repaired })
    await app.settled()
    expect(await app.office.count({ states: ['resolved'] })).toBe(67)
  })

  it('refuses a change that can not be read before anything is done', async () => {
    await using app = await many()
    await expect(app.office.repair({ service: 'pay' }, { set: { amount: 1 } })).rejects.toThrow(
      /begins with \$/,
    )
    await expect(app.office.repair({ service: 'pay' }, {})).rejects.toThrow(/nothing is to be repaired/)
    await expect(
      app.office.repair({ service: 'pay' }, { set: { '$.a': 1 } }, { as: '\u202e' }),
    ).rejects.toThrow(/can't be the name/)
    expect(await app.audit.list({ act: 'repair' })).toEqual([])
  })
})

describe('discarded letters', () => {
  it('are restored by filter until they are removed, poison to its quarantine, with a reason', async () => {
    await using app = await testApp()
    app.service('pay').on('booked', ({ data }) => {
      throw new Permanent(data.why)
    })
    for (const why of ['aaa', 'aaa', 'bbb']) await app.publish('booked', { why })
    await app.settled()
    const { discarded } = await app.office.discard({ error: 'aaa' }, { as: 'ann', reason: 'a test' })
    expect(discarded.length).toBe(2)
    const { restored, skipped } = await app.office.restore(
      { service: 'pay' },
      { as: 'ben', reason: 'no test' },
    )
    expect([restored.toSorted(), skipped]).toEqual([discarded.toSorted(), []])
    expect(await app.office.count({ states: ['open'] })).toBe(3)
    expect(await app.office.restore([discarded[0]!])).toMatchObject({
      restored: [],
      skipped: [{ because: 'it is open' }],
    })
    const [last] = await app.audit.list({ act: 'restore' })
    expect(last).toMatchObject({
      who: 'ben',
      reason: 'no test',
      count: 2,
      details: { filter: { service: 'pay' } },
    })
  })
})
