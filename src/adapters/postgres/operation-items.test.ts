import { expect, it } from 'vitest'
import { describeWith } from '../../../test/services/urls.ts'
import { deskAt } from '../../../test/stores/postgres.ts'
import type { Operation } from '../../core/operation.ts'
import { sampleLetters } from '../../testing/letters.ts'
import { systemClock } from '../system/clock.ts'
import { systemDice } from '../system/dice.ts'
import { loadDriver } from './client.ts'
import { itemsAt } from './operation-items.ts'
import { markItems, markSpan } from './operation-marks.ts'
import { moveLetters } from './operation-steps.ts'
import { type Ask, openPool, SAY_BEGUN } from './pool.ts'
import { readUrl } from './settings.ts'

const COUNT = 3000
const PLACES = Array.from({ length: 50 }, (_, n) => 1000 + n)

const ONE = {
  ...{ id: 'one', kind: 'replay', state: 'freezing', since: 0, by: 'ann', at: 0, chosen: {} },
  plan: { batch: 50, although: [] },
} satisfies Operation

interface Node {
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly Node[]
}

const itemsIn = (node: Node): number => {
  const seen = (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']
  const below = (node.Plans ?? []).reduce((sum, each) => sum + itemsIn(each), 0)
  return below + (node['Relation Name'] === 'operation_item' ? seen : 0)
}

describeWith('postgres', 'items of an operation in PostgreSQL', (url) => {
  it('are looked up one by one, though the server knows nothing of a set that was just frozen', async () => {
    const desk = await deskAt(url)
    const operations = (await desk.open()).operations!
    const { version } = await operations.begin(ONE)
    const items = Array.from({ length: COUNT }, (_, n) => ({
      ...{ place: n + 1, letter: `letter-${n}`, state: 'waiting' as const, at: 0 },
    }))
    await operations.add('one', version, items)
    const tools = { clock: systemClock, dice: systemDice(), journal: () => {} }
    const pool = openPool(await loadDriver(), readUrl(url), tools)
    let looked = 0
    // planned again and again, as one plan for all: what a connection comes to after some calls
    const ask: Ask = async ({ text, values = [] }) => {
      const { rows } = await pool.transaction(async (within) => {
        await within(SAY_BEGUN)
        await within({ text: 'SET LOCAL plan_cache_mode = force_generic_plan' })
        return within({ text: `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values })
      })
      looked += itemsIn((rows[0]!['QUERY PLAN'] as { Plan: Node }[])[0]!.Plan)
      return text.startsWith('SELECT') ? pool.ask({ text, values }) : { rows: [], rowCount: PLACES.length }
    }
    const known = await itemsAt(ask, desk.schema, '1', PLACES)
    expect(known.size).toBe(PLACES.length)
    const marks = PLACES.map((place) => ({ place, from: ['waiting'], to: 'sending', at: 1 }) as const)
    await markItems(ask, desk.schema, '1', known, marks)
    // once to read them, twice to find and change them
    expect(looked).toBeLessThanOrEqual(3 * PLACES.length)
    looked = 0
    await ask(markSpan(desk.schema, 'one', marks))
    expect(looked).toBeLessThanOrEqual(2 * PLACES.length)
    await pool.close()
    await desk.close()
  })

  it('that are marked alike and plainly change only from the state that is named, and are counted so', async () => {
    const desk = await deskAt(url)
    const operations = (await desk.open()).operations!
    const { version } = await operations.begin(ONE)
    const add = (place: number, because?: 'needs approval') => ({
      ...{ place, letter: `letter-${place}`, state: 'waiting' as const, at: 0, ...(because && { because }) },
    })
    await operations.add('one', version, [add(1), add(2, 'needs approval'), add(3)])
    const mark = (place: number, from: 'waiting' | 'sending', to: 'sending' | 'sent') =>
      ({ place, from: [from], to, at: 1 }) as const
    expect(
      await operations.mark('one', version, [mark(1, 'waiting', 'sending'), mark(2, 'waiting', 'sending')]),
    ).toEqual([true, true])
    // one of them waits, and one is not there
    const sent = [1, 3, 9, 2].map((place) => mark(place, 'sending', 'sent'))
    expect(await operations.mark('one', version, sent)).toEqual([true, false, false, true])
    expect(await operations.mark('one', version, sent)).toEqual([false, false, false, false])
    const { counts, reasons } = (await operations.read('one'))!
    expect(counts).toMatchObject({ waiting: 1, sending: 0, sent: 2 })
    expect(reasons['needs approval'] ?? 0).toBe(0)
    await desk.close()
  })

  it('and their letters stay as they are where the beginning that they went with was refused', async () => {
    const desk = await deskAt(url)
    const store = await desk.open()
    const operations = store.operations!
    const letters = store.letters!
    const [letter] = sampleLetters(1, 1_800_000_000_000)
    await letters.keep([letter!])
    const { version } = await operations.begin(ONE)
    await operations.add('one', version, [{ place: 1, letter: letter!.id, state: 'waiting', at: 0 }])
    const tools = { clock: systemClock, dice: systemDice(), journal: () => {} }
    const pool = openPool(await loadDriver(), readUrl(url), tools)
    const mark = {
      place: 1,
      from: ['waiting'],
      to: 'sending',
      at: 1,
      letter: { id: letter!.id, from: ['open'], to: 'replaying' },
    } as const
    // each by itself, as it were without one
    for (const each of [
      SAY_BEGUN,
      moveLetters(desk.schema, 'one', [mark]),
      markSpan(desk.schema, 'one', [mark]),
    ])
      await pool.ask(each)
    expect((await operations.read('one'))!.counts).toMatchObject({ waiting: 1, sending: 0 })
    expect((await operations.items('one', undefined, 2)).map(({ state }) => state)).toEqual(['waiting'])
    expect((await letters.find({}, 2)).map(({ state }) => state)).toEqual(['open'])
    expect(await operations.mark('one', version, [mark])).toEqual([true])
    expect((await letters.find({}, 2)).map(({ state }) => state)).toEqual(['replaying'])
    await pool.close()
    await desk.close()
  })
})
