import assert from 'node:assert/strict'
import type { LetterFilter } from '../../contracts/letters.ts'
import { encodeData } from '../../core/event.ts'
import type { Letter } from '../../core/letter.ts'
import { idsOf, trial } from './letters-bench.ts'
import type { Trial } from './trial.ts'

const withData = ({ event }: Letter, data: unknown, type = event.type): Partial<Letter> => ({
  event: { ...event, type, ...(encodeData(data) as { data: Uint8Array; datacontenttype: string }) },
})

export const searchTrials: readonly Trial[] = [
  trial('poison is quarantined, not open', async ({ letters, service, write }) => {
    const written = write(2, (n) => (n === 0 ? { reason: 'poison' } : {}))
    await letters.keep(written)
    const [found] = await letters.find({ service, states: ['quarantined'] }, 10)
    assert.equal(found?.letter.id, written[0]!.id)
    assert.equal(await letters.count({ service, states: ['open'] }), 1)
  }),

  trial('event type, code, time and the beginning of an id find letters', async (bench) => {
    const { letters, service, write, ids } = bench
    const plain = write(6)
    const written = plain.map((letter, n): Letter => {
      const { code: _, ...rest } = letter
      const typed = { ...rest, ...withData(letter, { n }, n < 2 ? 'order.placed' : 'order.paid') }
      return n === 5 ? typed : { ...typed, code: n % 2 ? 'E_ODD' : 'E_EVEN' }
    })
    await letters.keep(written)
    const at = (n: number) => written[n]!.buriedAt
    const expect = async (filter: LetterFilter, wanted: readonly number[]) => {
      assert.deepEqual(await ids(filter), idsOf(wanted.map((n) => written[n]!)), JSON.stringify(filter))
      assert.equal(await letters.count({ service, ...filter }), wanted.length)
      assert.deepEqual(await letters.countUpTo({ service, ...filter }, 10), {
        count: wanted.length,
        whole: true,
      })
    }
    await expect({ type: 'order.placed' }, [1, 0])
    await expect({ code: 'E_ODD' }, [3, 1])
    await expect({ code: 'E_ODD', type: 'order.paid' }, [3])
    await expect({ from: at(4) }, [5, 4])
    await expect({ to: at(2) }, [1, 0])
    await expect({ from: at(1), to: at(4), code: 'E_EVEN' }, [2])
    await expect({ beginning: written[3]!.id.slice(0, 13) }, [3])
    await expect({ beginning: 'no' }, [])
  }),

  trial('words of the error, words of the payload and conditions on it find letters', async (bench) => {
    const { letters, write, ids } = bench
    const data = [
      { order: { total: 250, owner: 'Ann' }, lines: [{ sku: 'a-7' }, { sku: 'b-8' }] },
      { order: { total: 99.5, owner: 'Bob' }, lines: [] },
      { order: { total: '250' }, id: 'n' },
      'plain',
    ]
    const written = write(4).map((letter, n) => ({
      ...letter,
      error: n < 2 ? `Connection to db-${n} refused` : 'no such order',
      ...withData(letter, data[n]),
    }))
    await letters.keep(written)
    const expect = async (filter: LetterFilter, wanted: readonly number[]) =>
      assert.deepEqual(await ids(filter), idsOf(wanted.map((n) => written[n]!)), JSON.stringify(filter))
    await expect({ error: 'REFUSED connection' }, [1, 0])
    await expect({ error: 'db-0 order' }, [])
    await expect({ payload: 'ann a-7' }, [0])
    await expect({ where: '$.order.total > 100' }, [0])
    await expect({ where: '$.order.total exists' }, [2, 1, 0])
    await expect({ where: '$.lines[*].sku = \'b-8\' and $.order.owner ~ "AN"' }, [0])
    await expect({ where: '$.order.total < 300', error: 'db-1' }, [1])
    for (const bad of [
      { where: '$.order.total >' },
      { where: 'total > 5' },
      { error: ' ' },
      { payload: '' },
    ]) {
      await assert.rejects(letters.find(bad, 10), { code: 'bad_filter' })
      await assert.rejects(letters.count(bad), { code: 'bad_filter' })
    }
  }),

  trial('a search goes on from page to page, though letters arrive', async ({ letters, write, ids }) => {
    const written = write(600, (n) => ({ error: n % 3 === 0 ? 'odd one' : 'plain' }))
    await letters.keep(written)
    const seen: string[] = []
    for (let after: string | undefined; ; after = seen.at(-1)) {
      const page = await ids({ error: 'odd' }, 70, after)
      if (page.length === 0) break
      seen.push(...page)
      await letters.keep(write(1, () => ({ error: 'odd too', buriedAt: written.at(-1)!.buriedAt + 1 })))
    }
    assert.deepEqual(seen, idsOf(written.filter((_, n) => n % 3 === 0)).toReversed())
  }),

  trial('a count that is not kept is bounded, and says so', async ({ letters, service, write }, world) => {
    const fingerprint = world.name('print')
    await letters.keep(write(30, () => ({ fingerprint })))
    const from = 0
    const most = await letters.countUpTo({ service, from }, 20)
    assert.ok(most.whole ? most.count === 30 : most.count === 20, JSON.stringify(most))
    assert.deepEqual(await letters.countUpTo({ service, from }, 30), { count: 30, whole: true })
    assert.deepEqual(await letters.countUpTo({ service }, 20), { count: 30, whole: true })
    const sifted = await letters.countUpTo({ service, error: 'answer' }, 20)
    assert.ok(sifted.whole ? sifted.count === 30 : sifted.count === 20, JSON.stringify(sifted))
  }),
]
