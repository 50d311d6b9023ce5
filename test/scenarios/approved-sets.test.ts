import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, describe, expect, it } from 'vitest'
import { contentHash } from '../../src/core/repair.ts'
import { Permanent, reprieve } from '../../src/index.ts'
import { decisionsOf } from '../../src/office/index.ts'
import { readRules } from '../../src/rules/index.ts'
import { describeWith } from '../services/urls.ts'
import { plainly as bySql, ownSchema } from '../stores/postgres.ts'
import { until } from '../until.ts'
import { someLetters } from './letters.ts'

const folder = mkdtempSync(join(tmpdir(), 'reprieve-approved-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A store, and a way past us to what is kept in it. */
interface Place {
  readonly url: string
  readonly items: string
  plainly(sql: string): unknown
}

const rules = readRules('version: 1\noperations: { approval: always }\n', 'test.yaml')

/** Payments that die until they are repaired, in a place where a second person approves every replay. */
const shop = async ({ url }: Place) => {
  const app = await reprieve({ rules, transport: 'memory:', store: url, as: 'ann' })
  const service = `pay-${randomUUID().slice(0, 8)}`
  const paid: unknown[] = []
  app.service(service).on(`${service}.booked`, ({ data }) => {
    if (typeof data.amount !== 'number') throw new Permanent('no number')
    paid.push(data.amount)
  })
  await app.start()
  for (const amount of ['1', '2']) await app.publish(`${service}.booked`, { amount })
  const open = await until('two letters', async () => {
    const found = await app.office.list({ service, states: ['open'] }, 3)
    return found.length === 2 && found
  })
  const { operations } = app.office
  const ends = (id: string) =>
    until('the end of it', async () => {
      const kept = await operations.show(id)
      return ['done', 'cancelled'].includes(kept.operation.state) && kept
    })
  return { app, service, paid, operations, ends, ids: open.map(({ letter }) => letter.id).toReversed() }
}

const approvedSets = (place: () => Place): void => {
  it('what was repaired after the approval is not sent, and says so', async () => {
    const { app, service, paid, operations, ends, ids } = await shop(place())
    const mend = (which: readonly string[], amount: number) =>
      app.office.repair(which, { set: { '$.amount': amount } }, { as: 'ann' })
    await mend(ids, 10)
    const planned = await operations.plan({ service }, {}, { as: 'ann' })
    const { id, hash } = planned.operation
    await operations.pause(id)
    await operations.approve(id, { as: 'bob', hash: hash! })
    await mend([ids[0]!], 1_000_000)
    await operations.resume(id)
    const done = await ends(id)
    expect(decisionsOf(done)).toEqual({ resolved: 1, 'changed since': 1 })
    expect(paid).toEqual([10])
    expect((await app.office.show(ids[0]!)).state).toBe('open')
    const [item] = await operations.items(id, { states: ['skipped'] })
    expect(item).toMatchObject({ letter: ids[0], because: 'changed since' })
    // what is asked for anew is another set, though it has the same letter
    const set = async () => {
      const { operation } = await operations.plan({ ids: [ids[0]!] }, {}, { as: 'ann' })
      await operations.cancel(operation.id)
      return operation.hash
    }
    const [first, same] = [await set(), await set()]
    await mend([ids[0]!], 11)
    expect([same, await set()]).toEqual([first, expect.not.stringMatching(first!)])
    await app.close()
  })

  it('what was repaired just as it was marked goes again as it was sent', async () => {
    const { app, service, operations, ends, ids } = await shop(place())
    const [one, two] = ids as [string, string]
    await app.office.repair([two], { set: { '$.amount': 7 } })
    const { operation } = await operations.plan({ service }, {}, { as: 'ann' })
    await operations.pause(operation.id)
    await operations.approve(operation.id, { as: 'bob' })
    const { store } = app
    const { version } = (await store.operations.read(operation.id))!
    const items = await store.operations.items(operation.id, ['waiting'], 9)
    const at = Date.now()
    const letter = { from: ['open'], to: 'replaying' } as const
    await store.operations.mark(
      operation.id,
      version,
      items.map(({ place: n }) => ({ place: n, from: ['waiting'], to: 'sending', at, letter })),
    )
    const content = { headers: {}, data: Buffer.from('{"amount":1000000}') }
    const late = (of: number) => ({
      ...{ version: of, at, who: 'eve', change: null, before: '', hash: contentHash(content) },
      ...content,
    })
    const repairs = [
      { id: one, from: ['replaying'] as const, repair: late(1) },
      { id: two, from: ['replaying'] as const, repair: late(2) },
    ]
    const act = { at, who: 'eve', act: 'repair', details: {} }
    expect(await store.letters.desk!.repair(repairs, act)).toEqual([true, true])
    await operations.resume(operation.id)
    const done = await ends(operation.id)
    // the first is still no number, and the second is the number that was approved
    expect(done.counts).toMatchObject({ resolved: 1, 'dead again': 1 })
    const [dead] = await app.office.list({ service, states: ['open'] }, 2)
    expect(Buffer.from(dead!.letter.event.data!).toString()).toBe('{"amount":"1"}')
    await app.close()
  })

  it.each([
    ['another letter', (item: string) => `SET letter = '${item}'`],
    ['another version', () => "SET repair = 'f00d'"],
  ])('an item that was made %s past the office ends the whole', async (_, change) => {
    const { url, items, plainly } = place()
    const app = await reprieve({ rules, transport: 'memory:', store: url, as: 'ann' })
    const [one, two, three] = someLetters(3, `tampered-${randomUUID().slice(0, 8)}`)
    await app.store.letters.keep([one!, two!, three!])
    const { operations } = app.office
    const planned = await operations.plan({ ids: [one!.id, two!.id] }, {}, { as: 'ann' })
    const { id } = planned.operation
    await operations.approve(id, { as: 'bob' })
    await plainly(`UPDATE ${items} ${change(three!.id)} WHERE letter = '${two!.id}'`)
    const { operation, counts } = await operations.work(id)
    expect(operation).toMatchObject({
      state: 'cancelled',
      because: 'its set is not the one that was approved',
    })
    expect(counts.waiting).toBe(2)
    const [entry] = await app.audit.list({ act: 'operation cancel' })
    expect(entry).toMatchObject({ target: `operation ${id}`, reason: operation.because })
    await app.close()
  })
}

describe('a set that was approved, on SQLite', () => {
  approvedSets(() => {
    const file = join(folder, `${randomUUID()}.db`)
    const plainly = (sql: string): void => {
      const database = new DatabaseSync(file)
      database.exec(sql)
      database.close()
    }
    return { url: `sqlite:${file}`, items: 'reprieve_operation_item', plainly }
  })
})

describeWith('postgres', 'a set that was approved, on PostgreSQL', (server) => {
  approvedSets(() => {
    const url = ownSchema(server)
    const schema = new URL(url).searchParams.get('schema')
    return { url, items: `${schema}.operation_item`, plainly: (sql) => bySql(server, sql) }
  })
})
